/**
 * Runs one system of a scenario once and hands back its record.
 *
 * Called by comparisons and benchmarks. It is the production core in virtual time: same seed, same
 * bytes of output.
 */

import { engineId, type EngineId } from "../base/index.ts";
import type { Scenario, SystemSettings } from "../scenario/index.ts";
import type { AdmissionSetting } from "../scheduler/index.ts";
import {
  buildCluster,
  borrowLimitSlices,
  memorySizes,
  totalWindowOf,
  type EngineMemorySize,
} from "./build-cluster.ts";
import type { Cluster, ClusterMember } from "./cluster.ts";
import { Digest } from "./digest.ts";
import { MemorySampler } from "./memory-sampler.ts";
import type { EngineRecord, LinkRecord, RunRecord } from "./run-record.ts";

/** Events between two looks at the clock of the progress. */
const PROGRESS_EVENTS = 16_384;

export function simulate(
  scenario: Scenario,
  system: SystemSettings,
  seed: number,
  admission: AdmissionSetting,
  onProgress?: (doneShare: number) => void,
): RunRecord {
  const digest = new Digest();
  const cluster = buildCluster(scenario, system, seed, admission, digest);
  const sizes = memorySizes(scenario, system);
  const sampler = new MemorySampler(cluster, sizes);
  const total = Math.max(1, cluster.openRequests);
  while (cluster.step()) {
    sampler.observe();
    if (onProgress !== undefined && cluster.events % PROGRESS_EVENTS === 0) {
      onProgress(1 - cluster.openRequests / total);
    }
    if (cluster.hasEnded) break;
  }
  const engines = cluster.members.map((member, index) =>
    engineRecord(scenario, system, member, sizes[index]!, engineId(index)),
  );
  return {
    system: system.name,
    seed,
    admission: admission.name,
    ...sameGrowthShares(cluster),
    totalWindow: totalWindowOf(cluster.members.map((member) => member.requests)),
    endNs: cluster.nowNs,
    engines,
    recalls: cluster.recalls.map(({ kind, slices, waitNs }) => ({ kind, slices, waitNs })),
    links: linkRecords(cluster, scenario.topology.gpus.length),
    digest: digest.toString(),
    samples: sampler.samples,
  };
}

/**
 * Growth shares enter admissions, and what is borrowed: ahead of requests, which claims note, and
 * while memory is short, which they do not.
 */
function sameGrowthShares(cluster: Cluster): Pick<RunRecord, "sameGrowthShares"> {
  const range = { above: -Infinity, upTo: Infinity };
  for (const { engine } of cluster.members) {
    const { claims, wasMemoryShort } = engine.scheduler;
    if (engine.arena.isElastic && wasMemoryShort) return {};
    range.above = Math.max(range.above, claims.sameShares.above);
    range.upTo = Math.min(range.upTo, claims.sameShares.upTo);
  }
  return { sameGrowthShares: range };
}

function engineRecord(
  scenario: Scenario,
  system: SystemSettings,
  member: ClusterMember,
  size: EngineMemorySize,
  id: EngineId,
): EngineRecord {
  const { engine, recorder, requests } = member;
  const { counters } = engine;
  const { window } = recorder;
  const limit = borrowLimitSlices(system, size);
  const spanNs = window.endNs - window.startNs;
  return {
    name: scenario.engines[id]!.name,
    gpuIndex: scenario.engines[id]!.gpuIndex,
    requests: {
      count: requests.count,
      arrivalNs: requests.arrivalNs,
      promptTokens: requests.promptTokens,
      outputTokens: requests.outputTokens,
      firstTokenNs: recorder.firstTokenNs,
      lastTokenNs: recorder.lastTokenNs,
      failure: recorder.failure,
    },
    gaps: recorder.gapLog(),
    window,
    outputTokensInWindow: recorder.tokensInWindow,
    outputTokensInTotalWindow: recorder.tokensInTotalWindow,
    preemptions: counters.preemptions,
    recomputedTokens: counters.recomputedTokens,
    prefixHitTokens: 0,
    ghostHitTokens: 0,
    rotations: engine.scheduler.rotation.rotations,
    parked: engine.scheduler.rotation.parkings,
    kvTokensCapacity: size.kvTokens,
    kvBytesCapacity: size.kvBytes,
    borrowLimitBytes: Number.isFinite(limit) ? limit * system.pool.sliceBytes : null,
    borrowed: recorder.borrowed.read(window),
    lent: recorder.lent.read(window),
    steps: counters.steps,
    stepNs: counters.stepNs,
    stepLocalNs: counters.stepLocalNs,
    stepUnlentNs: counters.stepUnlentNs,
    runningShare: spanNs > 0 ? Math.min(1, recorder.runningNs / spanNs) : 0,
    stallNs: counters.waitNs,
    remoteReadNs: counters.remoteReadNs,
    remoteReadBytes: counters.remoteReadBytes,
    prefetchHit: counters.prefetchHits,
    prefetchLate: counters.prefetchLates,
    prefetchMiss: counters.prefetchMisses,
    prefetchWastedBytes: counters.prefetchWastedBytes,
    refusals: { ...engine.arena.refusals },
    ladder: { ...counters.ladder },
  };
}

function linkRecords(cluster: Cluster, gpuCount: number): LinkRecord[] {
  const links: LinkRecord[] = [];
  for (let source = 0; source < gpuCount; source++) {
    for (let target = 0; target < gpuCount; target++) {
      const index = source * gpuCount + target;
      const bytes = cluster.load.pathBytes[index]!;
      if (bytes === 0) continue;
      links.push({ source, target, bytes, busyNs: cluster.load.pathBusyNs[index]! });
    }
  }
  return links;
}
