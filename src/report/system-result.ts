/**
 * One run of one system (one seed) in the form of the output, before seeds are put together.
 *
 * Called by compare.ts once per run. It knows no other system and no other seed. Groups are what
 * the table folds engines into on large servers; they are not in the JSON.
 */

import { createHash } from "node:crypto";
import { NS_PER_SECOND } from "../base/index.ts";
import type { Slo } from "../scenario/index.ts";
import type { Recalls, SystemResult } from "./compare-schema.ts";
import type { EngineGroup } from "./engine-groups.ts";
import { summarizeEngine, summarizeTogether, type EngineSummary } from "./engine-result.ts";
import { quantile } from "./quantiles.ts";
import type { LinkRecord, RecallRecord, RunRecord } from "./simulation.ts";

export interface RunSummary {
  readonly seed: number;
  readonly engines: Readonly<Record<string, EngineSummary>>;
  readonly groups: Readonly<Record<string, EngineSummary>>;
  readonly total: EngineSummary;
  readonly recalls: { readonly refill: Recalls; readonly demand: Recalls };
  readonly ladder: Readonly<Record<string, number>>;
  readonly links: SystemResult["links"];
  readonly digest: string;
}

export function summarizeRun(
  run: RunRecord,
  groups: readonly EngineGroup[],
  slo: Slo,
): RunSummary {
  const engines: Record<string, EngineSummary> = {};
  for (const engine of run.engines) engines[engine.name] = summarizeEngine(engine, slo);
  const together = (indices: readonly number[]): EngineSummary =>
    summarizeTogether(
      indices.map((index) => run.engines[index]!),
      indices.map((index) => run.samples[index] ?? []),
      run.totalWindow,
      slo,
      // Sorting every gap between tokens once more would be half of all statistics.
      indices.length === 1 ? engines[run.engines[indices[0]!]!.name]!.result : null,
    );
  const groupSummaries: Record<string, EngineSummary> = {};
  for (const group of groups) {
    const [only, ...others] = group.engineIndices;
    groupSummaries[group.label] =
      only !== undefined && others.length === 0
        ? engines[run.engines[only]!.name]!
        : together(group.engineIndices);
  }
  return {
    seed: run.seed,
    engines,
    groups: groupSummaries,
    total: together(run.engines.map((_, index) => index)),
    recalls: {
      refill: summarizeRecalls(run.recalls.filter((recall) => recall.kind === "refill")),
      demand: summarizeRecalls(run.recalls.filter((recall) => recall.kind === "demand")),
    },
    ladder: sumLadders(run),
    links: summarizeLinks(run.links, run.endNs),
    digest: run.digest,
  };
}

/** One seed's digest as it is; of several a hash over all, in the order of the seeds. */
export function combineDigests(digests: readonly string[]): string {
  if (digests.length === 1) return digests[0]!;
  return createHash("sha256").update(digests.join("\n")).digest("hex");
}

function summarizeRecalls(recalls: readonly RecallRecord[]): Recalls {
  const waitNs = Float64Array.from(recalls, (recall) => recall.waitNs).sort();
  const seconds = (share: number): number | null => {
    const valueNs = quantile(waitNs, share);
    return valueNs === null ? null : valueNs / NS_PER_SECOND;
  };
  return {
    count: recalls.length,
    slices: recalls.reduce((sum, recall) => sum + recall.slices, 0),
    waitSeconds: { p50: seconds(0.5), p99: seconds(0.99), max: seconds(1) },
  };
}

function sumLadders(run: RunRecord): Record<string, number> {
  const ladder: Record<string, number> = {};
  for (const engine of run.engines) {
    for (const [rung, slices] of Object.entries(engine.ladder)) {
      ladder[rung] = (ladder[rung] ?? 0) + slices;
    }
  }
  return ladder;
}

function summarizeLinks(links: readonly LinkRecord[], endNs: number): SystemResult["links"] {
  const result: SystemResult["links"] = {};
  for (const link of links) {
    result[`${link.source}-${link.target}`] = {
      bytes: link.bytes,
      busyShare: endNs > 0 ? link.busyNs / endNs : null,
    };
  }
  return result;
}
