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

import type { ReadSet, StepCompute } from "../prefetch/index.ts";

/** One step, or the rest of one. */
export interface StepWork {
  readonly compute: StepCompute;
  readonly groupLayers: number;
  /** What it reads that is not local, by source, with its access modes. */
  readonly readSet: ReadSet;
  /** (sources) how fast each may be read. */
  readonly sourceBytesPerSecond: Float64Array;
  /** Share of the first group's staged bytes that the step before has fetched ahead rightly. */
  readonly aheadShare: number;
}

/** Filled by the runner when a step has ended. */
export interface StepTiming {
  startNs: number;
  endNs: number;
  /** Duration had all KV been local, and had nothing of this device been read by others. */
  localNs: number;
  unlentNs: number;
  waitNs: number;
  linkBusyNs: number;
  /** (sources) bytes read over links. */
  readonly readBytes: Float64Array;
  hits: number;
  lates: number;
  misses: number;
}

export interface StepRunner {
  readonly timing: StepTiming;
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

export interface CopyRequest {
  readonly id: number;
  readonly source: number;
  readonly target: number;
  readonly bytes: number;
  /** Contiguous pieces: each costs the copy engine its fixed price. */
  readonly copies: number;
  /** Traffic that a lender asked for itself is not paced. */
  readonly isExempt: boolean;
}

export interface CopyEngine {
  submit(request: CopyRequest, nowNs: number): void;
  /** @returns the id of a copy that has ended by now, or -1. */
  poll(nowNs: number): number;
  nextDueNs(): number;
}

/** Why a request ended without its tokens. */
export type EngineFailure = "beyond-context" | "larger-than-memory" | "timeout" | "engine-lost";

/** What the engine tells: tokens and ends, to whoever streams or records them. */
export interface EngineSink {
  /** A sequence's next token came at nowNs, gapNs after its last one or its admission. */
  token(request: number, isFirst: boolean, gapNs: number, nowNs: number): void;
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
