/** Benchmarks: one class per question. */
package io.cqring.jmh;
