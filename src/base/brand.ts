/**
 * Branded integers: an engine's index cannot be passed where a slice's is wanted.
 *
 * All ids are dense indices from zero, so that they index typed arrays; the brand exists only in
 * the type checker.
 */

declare const brand: unique symbol;
type Branded<Name extends string> = number & { readonly [brand]: Name };

/** Index of an engine (a tenant's process) within one server. */
export type EngineId = Branded<"EngineId">;
/** Index of a slice within the whole server: device by device, in the order of the devices. */
export type SliceId = Branded<"SliceId">;
/** A lease's number; never reused within a run. */
export type LeaseId = Branded<"LeaseId">;

export const engineId = (index: number): EngineId => index as EngineId;
export const sliceId = (index: number): SliceId => index as SliceId;
export const leaseId = (index: number): LeaseId => index as LeaseId;
