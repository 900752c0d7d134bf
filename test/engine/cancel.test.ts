// A cancelled request makes no more tokens, and its memory is free by the next step.

import { describe, expect, it } from "vitest";
import type { Engine } from "../../src/engine/index.ts";
import { LOCAL_SOURCE } from "../../src/kvcache/index.ts";
import { ADMISSION_SETTINGS, buildCluster, Digest, type Cluster } from "../../src/sim/index.ts";
import { read } from "../scenario/scenario-fixture.ts";

/** One OPT-13B on an A100-40GB with a few requests at once. */
function clusterOf(requests: readonly string[]): Cluster {
  const scenario = read(`
server: 2xa100-40g
engines:
  - name: chat
    gpus: [0]
    model: OPT-13B
    workload: { arrivals: list, requests: [${requests.join(", ")}] }
  - { name: idle, gpus: [1], model: OPT-13B }
`);
  const system = scenario.systems.find(({ name }) => name === "ema")!;
  return buildCluster(scenario, system, 1, ADMISSION_SETTINGS[0]!, new Digest());
}

const request = (at: number): string => `{ at: ${at}, prompt: 200, output: 50 }`;

function cancel(cluster: Cluster, index: number, id: number): boolean {
  let wasHere = false;
  cluster.act(index, (engine: Engine, nowNs) => {
    wasHere = engine.cancel(id, nowNs);
  });
  if (wasHere) cluster.members[index]!.recorder.cancelled(id, cluster.nowNs);
  return wasHere;
}

function runOut(cluster: Cluster): void {
  while (cluster.step()) cluster.check();
}

describe("a cancelled request", () => {
  it("in the step in flight is gone when that has ended, without its token", () => {
    const cluster = clusterOf([request(0), request(0)]);
    const { engine, recorder } = cluster.members[0]!;
    while (!(recorder.firstTokenNs[0]! > 0)) cluster.step();
    const { sequences } = engine.scheduler;
    const tokens = recorder.tokens;
    const stepEndNs = engine.nextDueNs();
    expect(cancel(cluster, 0, 0)).toBe(true);
    expect(cancel(cluster, 0, 0)).toBe(false);
    expect(sequences.count).toBe(2);
    while (cluster.nowNs < stepEndNs) cluster.step();
    expect(sequences.count).toBe(1);
    expect(recorder.tokens).toBe(tokens + 1);
    expect(engine.kv.usedBlocks(LOCAL_SOURCE)).toBe(engine.kv.blockCount(sequences.rowOf(1)));
    runOut(cluster);
    expect(recorder.lastTokenNs[0]).toBeNaN();
    expect(recorder.lastTokenNs[1]).toBeGreaterThan(0);
    expect(recorder.open).toBe(0);
    expect(engine.kv.usedBlocks(LOCAL_SOURCE)).toBe(0);
  });

  it("that waits is gone at once", () => {
    // More than the batch takes in its first step: 2,048 tokens, eleven prompts.
    const cluster = clusterOf(Array.from({ length: 14 }, () => request(0)));
    const { engine, recorder } = cluster.members[0]!;
    cluster.step();
    const { waiting } = engine.scheduler;
    const last = waiting.requestAt(waiting.size - 1);
    const before = waiting.size;
    expect(cancel(cluster, 0, last)).toBe(true);
    expect(waiting.size).toBe(before - 1);
    runOut(cluster);
    expect(recorder.tokens).toBe(13 * 50);
  });

  it("that has ended, or was cancelled before, is not there", () => {
    const cluster = clusterOf([request(0), request(100)]);
    const { engine } = cluster.members[0]!;
    while (cluster.members[0]!.recorder.open > 1) cluster.step();
    expect(engine.cancel(0, cluster.nowNs)).toBe(false);
    while (engine.scheduler.isEmpty) cluster.step();
    expect(cancel(cluster, 0, 1)).toBe(true);
    runOut(cluster);
    expect(engine.cancel(1, cluster.nowNs)).toBe(false);
  });

  it("lets the one behind it go on", () => {
    const cluster = clusterOf([request(0), request(0.001)]);
    const { recorder } = cluster.members[0]!;
    cluster.step();
    expect(cancel(cluster, 0, 0)).toBe(true);
    runOut(cluster);
    expect(recorder.lastTokenNs[1]).toBeGreaterThan(0);
    expect(recorder.tokens).toBe(50);
  });
});
