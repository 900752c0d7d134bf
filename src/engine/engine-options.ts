/**
 * Everything an engine is told when it is made: its place in the server, its model, its settings.
 *
 * Built by the simulator's cluster and by the daemon from a scenario or a command line; plain data
 * but for the cost model.
 */

import type { EngineId } from "../base/index.ts";
import type { CostModel } from "../hardware/index.ts";
import type { KvLayout, SliceClearing } from "../kvcache/index.ts";
import type { HeadroomSetting } from "../pool/index.ts";
import type { AccessMode, LinkCosts } from "../prefetch/index.ts";
import type { AdmissionSetting } from "../scheduler/index.ts";
import type { RoleTimes } from "./role-times.ts";

export interface EngineOptions {
  readonly engine: EngineId;
  readonly engineCount: number;
  readonly isElastic: boolean;
  readonly layout: KvLayout;
  readonly cost: CostModel;
  readonly ownSlices: number;
  /** (engines) slices each engine owns. */
  readonly slicesOf: readonly number[];
  /** The most it could borrow: its limit when it was made, and what all others lend when idle. */
  readonly borrowSlicesMax: number;
  /** (rows) the source of every row: all slices of the server, then host rows. */
  readonly sourceOfRow: Int16Array;
  readonly hostRows: readonly number[];
  /** (sources) paths into this engine's device, see LinkRates. */
  readonly pathBytesPerSecond: Float64Array;
  readonly portBytesPerSecond: number;
  readonly hbmBytesPerSecond: Float64Array;
  readonly link: LinkCosts;
  readonly lenderShare: number | null;
  readonly accessMode: AccessMode;
  readonly headroom: HeadroomSetting;
  /** From a refill recall to usable slices: what headroom has to bridge. */
  readonly refillNs: number;
  readonly maxBatchTokens: number;
  readonly maxSequences: number;
  readonly contextTokensMax: number;
  readonly tpotTargetNs: number;
  readonly admission: AdmissionSetting;
  readonly headTimeoutNs: number;
  readonly parkedMaxNs: number;
  /** ROLE_TIMES unless given: small simulations live faster. */
  readonly roleTimes?: RoleTimes;
  /** 1: the next step is decided while this one runs; not built for engines that lend or borrow. */
  readonly stepsAhead?: 0 | 1;
  /** Where other tenants borrow: clears own slices before they are offered. */
  readonly clearing?: SliceClearing;
  /** A preempted request finds its own KV again while nobody took it; needs slices of one block. */
  readonly remembersFreed?: boolean;
}
