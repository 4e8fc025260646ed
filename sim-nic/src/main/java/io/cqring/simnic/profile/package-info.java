/**
 * Completion queues of real devices, both ends: entries to the bit, ownership, consumer index, arm, resize.
 *
 * <pre>
 *                  entry                    device end              host end              memory
 *   mlx5           {@link io.cqring.simnic.profile.Mlx5Cqe}      Mlx5Writer              Mlx5Queue             Mlx5Region
 *   irdma          {@link io.cqring.simnic.profile.IrdmaCqe}     IrdmaWriter             IrdmaQueue            IrdmaRegion
 *   bnxt_re        {@link io.cqring.simnic.profile.BnxtCqe}      BnxtWriter              BnxtQueue             BnxtRegion
 *   events, all    {@link io.cqring.simnic.profile.VendorEventQueue}, both ends
 *   asynchronous   {@link io.cqring.simnic.profile.VendorAsyncQueue}, both ends: Mlx5Eqe, IrdmaAeqe, BnxtCreqe
 * </pre>
 *
 * <p>Reading order: an entry, {@link io.cqring.simnic.profile.VendorWriter} and {@link io.cqring.simnic.profile.VendorQueue} (what the ends of all
 * vendors have in common), then a vendor's two ends. Where a seed contradicts a driver, the driver is followed. What is simplified or left out:
 * {@code sim-nic/docs/profiles.md}.
 */
package io.cqring.simnic.profile;
