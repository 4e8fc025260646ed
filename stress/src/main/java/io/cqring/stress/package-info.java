/** One jcstress class per ordering edge, each with a twin that must fail. */
package io.cqring.stress;
