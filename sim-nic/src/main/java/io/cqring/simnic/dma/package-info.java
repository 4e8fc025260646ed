/**
 * Memory regions: which addresses the device may touch, for whom, and how bytes get from one to another.
 *
 * <pre>
 *   work request: address, length, lkey ──► RegionTable.findLocal  ──┐
 *                                                                    ├──► RegionTable.copy ──► QueueMemory
 *   message:      address, length, rkey ──► RegionTable.findRemote ──┘
 * </pre>
 *
 * <p>Reading order: {@link io.cqring.simnic.dma.AccessRights}, {@link io.cqring.simnic.dma.MemoryRegion} (plain and
 * sparse), {@link io.cqring.simnic.dma.RegionTable}. Addresses are 64-bit virtual ones that mean nothing outside
 * their region; lengths are bytes in {@code long}, and no sum of the two is ever formed, so nothing can overflow.
 */
package io.cqring.simnic.dma;
