/**
 * Completion queues of real devices, both ends: entries to the bit, ownership, consumer index, arm, resize.
 *
 * <pre>
 *                  entry                    device end              host end
 *   mlx5           {@link io.cqring.simnic.profile.Mlx5Cqe}      Mlx5Writer              Mlx5Queue
 * </pre>
 *
 * <p>Reading order: an entry, {@link io.cqring.simnic.profile.VendorWriter} and {@link io.cqring.simnic.profile.VendorQueue} (what the ends of all
 * vendors have in common), then a vendor's two ends. Where a seed contradicts a driver, the driver is followed.
 */
package io.cqring.simnic.profile;
