/**
 * A scenario after parsing: everything `compare` and `limits` need, checked and resolved.
 *
 * Made by scenario-file.ts from YAML or by quick-scenario.ts from command line options; read by the
 * simulator and by the closed form. No option lives elsewhere.
 */

import type { ModelShape, Topology } from "../hardware/index.ts";
import type { RequestTable } from "../workload/index.ts";

/** A cap: a share of the engine's own KV memory, bytes, or none. */
export type MemoryLimit =
  | { readonly kind: "share"; readonly share: number }
  | { readonly kind: "bytes"; readonly bytes: number }
  | { readonly kind: "none" };

export type Headroom = "auto" | MemoryLimit;
export type Interference = "subtractive" | "ceiling";
export type AccessMode = "staged" | "direct" | "mixed";

export interface PoolSettings {
  readonly borrowLimit: MemoryLimit;
  readonly headroom: Headroom;
  /** Share of a running lender's achieved HBM bandwidth; 0: not read; `null`: no pacing. */
  readonly lenderShare: number | null;
  readonly sliceBytes: number;
  readonly interference: Interference;
  readonly accessMode: AccessMode;
  readonly copyCostSeconds: number;
}

export interface Slo {
  readonly ttftSeconds: number;
  readonly tpotSeconds: number;
}

export type SystemBase = "static" | "double" | "ema";

export interface SystemSettings {
  readonly name: string;
  readonly base: SystemBase;
  /** The scenario's pool settings with this system's own on top. */
  readonly pool: PoolSettings;
}

export interface EngineSettings {
  readonly name: string;
  readonly gpuIndex: number;
  readonly model: ModelShape;
  readonly tenant: string;
  readonly blockTokens: number;
  readonly maxBatchTokens: number;
  readonly maxSequences: number;
  /** True when a seed changes the requests (generators); traces are the same for every seed. */
  readonly isGenerated: boolean;
  /**
   * Draws or deals the requests of this engine for one seed; empty for an engine that only lends.
   * Requests of a trace beyond the model's context are kept: the engine fails them with the reason.
   */
  requests(seed: number): RequestTable;
  /**
   * Mean prompt and output lengths, for the closed form: a generator's as given, before clipping,
   * or the trace's own. Both are 0 for an engine without requests.
   */
  readonly meanPromptTokens: number;
  readonly meanOutputTokens: number;
}

export interface Scenario {
  readonly name: string;
  readonly topology: Topology;
  readonly seed: number;
  readonly slo: Slo;
  /** What a system gets that says nothing of its own. */
  readonly pool: PoolSettings;
  /** Never empty; names are unique. */
  readonly systems: readonly SystemSettings[];
  /** Never empty; names are unique, and each GPU has at most one. */
  readonly engines: readonly EngineSettings[];
  /** Things said once to the reader: rows skipped, prompts clipped. */
  readonly notes: readonly string[];
}
