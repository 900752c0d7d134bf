/** The public face of the paged KV cache. It knows blocks and places, not leases or requests. */

export { createKvLayout, type KvLayout } from "./layout.ts";
export type { Move, MoveReason } from "./move-book.ts";
export { laySliceRows } from "./slice-rows.ts";
export { RowState, SliceTable } from "./slice-table.ts";
export { KvCache, LOCAL_SOURCE, type KvCacheOptions } from "./kv-cache.ts";
export { Arena, type ArenaOptions } from "./arena.ts";
export type { SliceClearing } from "./offered-slices.ts";
export type { PendingRecall } from "./recall-debts.ts";
