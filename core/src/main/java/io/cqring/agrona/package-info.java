/**
 * Faces that Agrona's users know. {@link io.cqring.agrona.CompletionRingBuffer} is Agrona's {@code RingBuffer} over one
 * {@link io.cqring.cq.CompletionQueue}.
 *
 * <p>Unlike the rest of this library this package needs a JVM option, because Agrona's {@code UnsafeBuffer} does:
 * {@code --add-opens java.base/jdk.internal.misc=ALL-UNNAMED}, on the module path {@code =org.agrona}. Nothing else refers to it.
 */
package io.cqring.agrona;
