/**
 * What a server of emulated devices is told when it is made.
 *
 * Filled in by composition roots (`ema serve`, `ema chat`, benchmarks, tests). Plain data but for
 * the checkpoint.
 */

import type { EmaError } from "../base/index.ts";
import type { EmulatedLinks, EmulatedServerOptions } from "../device/index.ts";
import type { RoleTimes } from "../engine/index.ts";
import type { Checkpoint } from "../model/index.ts";
import type { PoolSettings } from "../scenario/index.ts";
import type { EmulatedRates } from "./emulated-cost.ts";

export interface ServedEngineOptions {
  /** Unique. */
  readonly name: string;
  /** Index in `deviceBytes`; one engine a device. */
  readonly device: number;
  /** Slices that go from one tenant to another are cleared in between. */
  readonly tenant: string;
}

export interface ServedServerOptions {
  /** Memory of each emulated device; `4x64MiB` is four times 67108864. */
  readonly deviceBytes: readonly number[];
  /** Every engine serves it. Its weights are read while the server is made, and not closed. */
  readonly checkpoint: Checkpoint;
  /** One a device, all of one tenant, unless told otherwise. */
  readonly engines?: readonly ServedEngineOptions[];
  /** Over the defaults of scenarios; without `sliceBytes` it is a 256th of a device. */
  readonly pool?: Partial<PoolSettings>;
  /** Unpaced unless told otherwise. */
  readonly links?: EmulatedLinks;
  readonly limits?: Partial<ServedLimits>;
  /** What an emulated device is thought to do before it has been measured. */
  readonly rates?: EmulatedRates;
  readonly roleTimes?: RoleTimes;
  readonly tpotTargetSeconds?: number;
  /** Told of an engine whose device has failed; the others go on without it. */
  readonly onEngineLost?: (name: string, error: EmaError) => void;
  /** Whether engines lend and borrow; true unless told otherwise. */
  readonly isElastic?: boolean;
  /** Of the emulated devices; what is best here unless told otherwise. */
  readonly kernels?: EmulatedServerOptions["kernels"];
  readonly memory?: EmulatedServerOptions["memory"];
}

export interface ServedLimits {
  readonly maxBatchTokens: number;
  readonly maxSequences: number;
  /** Requests that may wait for admission in one engine; the next is rejected. */
  readonly waitingMax: number;
  readonly blockTokens: number;
}

export const SERVED_LIMITS: ServedLimits = {
  maxBatchTokens: 2048,
  maxSequences: 256,
  waitingMax: 1024,
  blockTokens: 16,
};
