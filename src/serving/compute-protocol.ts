/**
 * What a server and the thread that computes for one device say to each other.
 *
 * Used by both ends (real-runner.ts, compute-thread.ts). Orders and results are messages of plain
 * data; everything that must be seen within microseconds is a word of shared memory. Both ends wait
 * with Atomics, so neither needs an event loop to make progress.
 *
 *     control:  | orders | pause | changes | state | groups done | thread |
 *     gates:    | known | half | arrivals | ...     three words a layer group
 *
 *     IDLE --order "step"--> RUNNING --all groups--> ENDED --result taken--> IDLE
 *                             |   ^
 *                       pause |   | order "resume"
 *                             v   |
 *                            PAUSED   between two groups
 */

import type { MessagePort } from "node:worker_threads";
import type { EmulatedServerHandle } from "../device/index.ts";
import type { KvLayout } from "../kvcache/index.ts";
import type { DecoderLimits, DecoderPlace, ModelConfig } from "../model/index.ts";
import type { SampledToken, ScratchBlock } from "./step-execution.ts";
import type { StepTables } from "./step-tables.ts";

/** Words of the control block. */
export const Control = {
  /** Goes up with every order; the thread waits here. */
  Orders: 0,
  /** 1: stop before the next layer group. */
  Pause: 1,
  /** Goes up with everything the thread does that others may wait for. */
  Changes: 2,
  State: 3,
  GroupsDone: 4,
  /** The system's number of the thread (device/emulated/thread-life.ts). */
  Thread: 5,
  WORDS: 6,
} as const;

export const State = { Idle: 0, Running: 1, Paused: 2, Ended: 3, Failed: 4 } as const;

/** Words of a gate: what a layer group waits for before it may begin. */
export const Gate = {
  /** 1 once its copies have been asked for, or there are none. */
  Known: 0,
  /** Which half of the ring its staged blocks are in. */
  Half: 1,
  /** What the half's arrival counter must have reached. */
  Arrivals: 2,
  WORDS: 3,
} as const;

/** The arrival counter of each half of the ring. */
export function arrivalCellOf(half: number): number {
  return 1 + half;
}

export interface ComputeThreadData {
  readonly handle: EmulatedServerHandle;
  readonly device: number;
  readonly config: ModelConfig;
  readonly limits: DecoderLimits;
  readonly place: DecoderPlace;
  readonly layout: KvLayout;
  readonly groupLayers: number;
  readonly scratch: ScratchBlock;
  readonly control: Int32Array;
  readonly gates: Int32Array;
  /** The thread's end of the channel. */
  readonly port: MessagePort;
}

export type ComputeOrder =
  | {
      readonly kind: "step";
      readonly tables: StepTables;
      /** Addresses of the ring's slices. */
      readonly ringAddress: readonly number[];
      /** The step's first group begins no earlier: what makes a CPU an emulated GPU. */
      readonly hostNs: number;
    }
  | {
      readonly kind: "resume";
      readonly tables: StepTables;
      readonly ringAddress: readonly number[];
    }
  | { readonly kind: "stop" };

export type ComputeResult =
  | {
      readonly kind: "ended";
      readonly tokens: readonly SampledToken[];
      readonly startNs: number;
      readonly endNs: number;
      /** Time in which groups waited at their gates. */
      readonly waitNs: number;
      readonly hits: number;
      readonly lates: number;
      readonly misses: number;
    }
  | { readonly kind: "failed"; readonly message: string };
