/** Off-heap memory: the one door to it. */
package io.cqring.memory;
