/** The public face of the pool: it hands out slices and knows nothing of tokens. */

export type { PoolCommand, PoolEvent, RecallKind, RefusalReason } from "./commands.ts";
