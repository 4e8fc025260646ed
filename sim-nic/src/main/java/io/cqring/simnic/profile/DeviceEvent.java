package io.cqring.simnic.profile;

import io.cqring.eq.EventType;

/**
 * Something that a device tells of without being asked, in the reference profile's terms; a vendor's event has room for some of it.
 *
 * @param type         what happened
 * @param number       number of the queue pair, completion queue or shared receive queue, by type; 0 to 2^24-1
 * @param syndrome     of a completion ({@code CompletionStatus}); 0 if there is none
 * @param detail       64 bits more, by type
 * @param receiving    whether the receive side is concerned
 * @param sendIndex    of a queue pair: count of the send-queue entry concerned, or the next
 * @param receiveIndex the same of its receive queue
 */
public record DeviceEvent(
        EventType type, int number, int syndrome, long detail, boolean receiving, int sendIndex, int receiveIndex) {
    /**
     * An event that concerns no work-queue entry.
     *
     * @param type   what happened
     * @param number of what
     * @return the event
     */
    public static DeviceEvent of(EventType type, int number) {
        return new DeviceEvent(type, number, 0, 0, false, 0, 0);
    }
}
