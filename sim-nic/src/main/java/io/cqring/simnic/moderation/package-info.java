/**
 * When the device tells the host: {@link io.cqring.simnic.moderation.QueueEvents} looks at one queue in each pass of the device, through {@link
 * io.cqring.simnic.moderation.ArmedRing}, and keeps its moderation timer. For the device thread.
 */
package io.cqring.simnic.moderation;
