/**
 * What the engine needs of the world: something that runs steps and something that copies.
 *
 * Implemented by the costed world (sim/costed-runner.ts, sim/costed-copies.ts) and by real devices.
 * Both are asked, never called back: submit, poll, nextDueNs. The unit of a step is a layer group,
 * so that a recall or a change of pace acts inside a step:
 *
 *     IDLE --submit--> RUNNING --poll() true--> IDLE
 *                       |  ^
 *            interrupt  |  | resume (the groups after the one in flight, laid out anew)
 *                       v  |
 *                     PAUSED
 */

import type { KvCache } from "../kvcache/index.ts";
import type { ReadSet, StepCompute } from "../prefetch/index.ts";
import type { Batch, Sequences } from "../scheduler/index.ts";
import type { StepTiming } from "./step-timing.ts";

/** One step, or the rest of one, as far as it takes to say how long it lasts. */
export interface PricedStep {
  readonly compute: StepCompute;
  readonly groupLayers: number;
  /** What it reads that is not local, by source, with its access modes. */
  readonly readSet: ReadSet;
  /** (sources) how fast each may be read: what a running lender gives, the path otherwise. */
  readonly sourceBytesPerSecond: Float64Array;
  /** Share of the first group's staged bytes that the step before has fetched ahead rightly. */
  readonly aheadShare: number;
}

/**
 * What who computes real tokens needs besides. The tables change from step to step: they are read
 * within `submit` and `resume` only.
 */
export interface StepWork extends PricedStep {
  /** Who takes part, with how many tokens; entries taken out have row -1. */
  readonly batch: Batch;
  /** (rows) whose request each row is. */
  readonly sequences: Sequences;
  /** Where the blocks of each row lie. */
  readonly kv: KvCache;
  /** Own slices that hold what is staged, in the order in which they became part of the ring. */
  readonly ringRows: readonly number[];
}

export interface StepRunner {
  readonly timing: StepTiming;
  /**
   * Whether times are known beforehand. Where they are not, `interrupt` returns when the layer
   * group has ended, and what is read in place counts as read until the step has ended.
   */
  readonly isForeseen: boolean;
  submit(work: StepWork, nowNs: number): void;
  /** Stops after the layer group in flight. @returns when that group ends. */
  interrupt(nowNs: number): number;
  resume(work: StepWork): void;
  /** @returns whether the step in flight has ended by now; true once for each step. */
  poll(nowNs: number): boolean;
  /** No step follows the last one for now: what was fetched ahead is void. */
  rest(nowNs: number): void;
  nextDueNs(): number;
}

/** A copy as far as it takes to say how long it lasts. */
export interface PricedCopy {
  readonly id: number;
  readonly source: number;
  readonly target: number;
  readonly bytes: number;
  /** Contiguous pieces: each costs the copy engine its fixed price. */
  readonly copies: number;
  /** Traffic that a lender asked for itself is not paced. */
  readonly isExempt: boolean;
}

export interface CopyRequest extends PricedCopy {
  /** (blocks) slots of the cache that are copied, and those they are copied into. */
  readonly sourceHandles: Int32Array;
  readonly targetHandles: Int32Array;
}

export interface CopyEngine {
  submit(request: CopyRequest, nowNs: number): void;
  /** @returns the id of a copy that has ended by now, or -1. */
  poll(nowNs: number): number;
  nextDueNs(): number;
  /** The copy is of no use any more: it ends as soon as it can, which `poll` tells as ever. */
  abort(id: number, nowNs: number): void;
}

/** Why a request ended without its tokens. */
export type EngineFailure = "beyond-context" | "larger-than-memory" | "timeout" | "engine-lost";

/** What the engine tells: tokens and ends, to whoever streams or records them. */
export interface EngineSink {
  /**
   * A sequence's next token came at nowNs, gapNs after its last one or its admission.
   * @returns whether the token ends the sequence before it has all it asked for.
   */
  token(request: number, isFirst: boolean, gapNs: number, nowNs: number): boolean;
  finished(request: number, nowNs: number): void;
  failed(request: number, reason: EngineFailure, nowNs: number): void;
  /** A step ran from startNs to endNs. */
  ran(startNs: number, endNs: number): void;
  /** Anything else that belongs in an ordered log; `kind` is a small closed set of names. */
  note(kind: EngineNote, value: number, nowNs: number): void;
}

export type EngineNote =
  | "admitted"
  | "preempted"
  | "step"
  | "interrupted";
