/**
 * A server: its GPUs and the paths between them.
 *
 * Built from a short name or a server.yaml (server.ts). The pool asks it for distance, the cost
 * model for bandwidth. Each GPU has one ingress and one egress port that all its paths share.
 */

import type { Gpu } from "./gpu.ts";

export interface Path {
  readonly bytesPerSecond: number;
  readonly latencySeconds: number;
}

export type Wiring = "switch" | "mesh" | "pcie" | "custom";

export interface Topology {
  /** As the user wrote it: `4xa100-40g`, or a file's path. */
  readonly name: string;
  readonly wiring: Wiring;
  readonly gpus: readonly Gpu[];
  /**
   * Indexed source * gpus.length + target; `null` where there is no peer path (and on the
   * diagonal).
   */
  readonly paths: readonly (Path | null)[];
}

/** @returns the one-way path on which `target` reads memory of `source`, or `null`. */
export function pathBetween(topology: Topology, source: number, target: number): Path | null {
  return topology.paths[source * topology.gpus.length + target] ?? null;
}
