/**
 * Watches requests from arrival to end: tokens are conserved, times are possible, nobody starves.
 *
 * Listens on the recorders of a cluster beside them. Knows no memory: what waits for what is the
 * engines' affair, but it may not last for ever.
 */

import { assert } from "../../src/base/index.ts";
import { createCostModel, type CostModel } from "../../src/hardware/index.ts";
import { LOCAL_SOURCE } from "../../src/kvcache/index.ts";
import type { Cluster } from "../../src/sim/index.ts";
import type { RandomRun } from "./random-scenario.ts";

/** Longer than a recall, its copies over a slow link and the steps in between take together. */
const STILL_NS = 5e9;
/** Longer than any prompt takes that fits well into the own memory. */
const VAIN_NS = 10e9;

type End = "finished" | "cancelled" | "engine-lost" | "timeout" | "beyond-context";

export class RequestWatch {
  /** How many requests ended how. */
  readonly ends = new Map<string, number>();
  readonly #cluster: Cluster;
  readonly #run: RandomRun;
  readonly #costs: CostModel[];
  readonly #headTimeoutNs: number;
  /** (engines, requests) */
  readonly #tokens: Int32Array[];
  readonly #end: (End | string | null)[][];
  /** (engines) when the engine last made a token or a request ended; when a step last ended. */
  readonly #progressNs: Float64Array;
  readonly #steppedNs: Float64Array;
  /** (engines) whether it had nothing to do after the event before. */
  readonly #wasIdle: Uint8Array;
  /** (engines) when a request last had, or wanted, much of the engine's own memory. */
  readonly #largeNs: Float64Array;

  constructor(cluster: Cluster, run: RandomRun, headTimeoutNs: number) {
    this.#cluster = cluster;
    this.#run = run;
    this.#headTimeoutNs = headTimeoutNs;
    const { engines, topology } = run.scenario;
    this.#costs = engines.map((engine) =>
      createCostModel(topology.gpus[engine.gpuIndex]!, engine.model),
    );
    this.#tokens = cluster.members.map(({ requests }) => new Int32Array(requests.count));
    this.#end = cluster.members.map(({ requests }) => Array(requests.count).fill(null));
    this.#progressNs = new Float64Array(cluster.members.length);
    this.#steppedNs = new Float64Array(cluster.members.length);
    this.#wasIdle = new Uint8Array(cluster.members.length).fill(1);
    this.#largeNs = new Float64Array(cluster.members.length).fill(-1);
    cluster.members.forEach((_, index) => this.#listen(index));
  }

  isOpen(engine: number, request: number): boolean {
    return this.#end[engine]![request] === null;
  }

  ended(engine: number, request: number, how: End | string): void {
    const before = this.#end[engine]![request];
    assert(before === null, () => `requests: ${request} of ${engine} ended ${before} and ${how}`);
    this.#end[engine]![request] = how;
    this.ends.set(how, (this.ends.get(how) ?? 0) + 1);
    this.#progressNs[engine] = this.#cluster.nowNs;
    this.#steppedNs[engine] = this.#cluster.nowNs;
  }

  /** After every event: who has work gets on with it. */
  check(): void {
    const { nowNs, members } = this.#cluster;
    members.forEach(({ engine }, index) => {
      const isIdle = this.#cluster.isGone(index) || engine.scheduler.isEmpty;
      if (isIdle || this.#wasIdle[index] === 1) {
        this.#progressNs[index] = nowNs;
        this.#steppedNs[index] = nowNs;
      }
      this.#wasIdle[index] = isIdle ? 1 : 0;
      if (isIdle) return;
      if (this.#hasLarge(index)) this.#largeNs[index] = nowNs;
      this.#checkSince(index, "taken a step", this.#steppedNs[index]!, STILL_NS);
      this.#checkSince(index, "made a token", this.#progressNs[index]!, VAIN_NS);
    });
  }

  #checkSince(index: number, what: string, sinceNs: number, usualNs: number): void {
    const { engine } = this.#cluster.members[index]!;
    // A request that needs others' memory may wait for it until it times out.
    const mostNs = this.#largeNs[index]! >= sinceNs ? 4 * this.#headTimeoutNs : usualNs;
    const idleNs = this.#cluster.nowNs - sinceNs;
    const { sequences, waiting } = engine.scheduler;
    assert(
      idleNs <= mostNs,
      () =>
        `requests: engine ${index} has not ${what} for ${idleNs / 1e9} s with ` +
        `${sequences.count} running, ${waiting.size} waiting, ` +
        `${engine.arena.borrowedSlices} borrowed, ${engine.arena.lentSlices} lent`,
    );
  }

  /** Whether a request has, or wants, more than half of the engine's own memory. */
  #hasLarge(index: number): boolean {
    const { kv, arena, scheduler } = this.#cluster.members[index]!.engine;
    const ownSlices = kv.slices.heldRows[LOCAL_SOURCE]! + arena.offeredSlices;
    const halfBlocks = (ownSlices * kv.layout.blocksPerSlice) / 2;
    const { waiting, sequences } = scheduler;
    for (let position = 0; position < waiting.size; position++) {
      if (waiting.tokensAt(position) / kv.layout.blockTokens > halfBlocks) return true;
    }
    for (let at = 0; at < sequences.count; at++) {
      if (kv.blockCount(sequences.order[at]!) > halfBlocks) return true;
    }
    return false;
  }

  checkEnded(): void {
    this.#cluster.members.forEach(({ recorder, requests }, index) => {
      let made = 0;
      for (let request = 0; request < requests.count; request++) {
        const end = this.#end[index]![request];
        assert(end !== null, () => `requests: ${request} of ${index} has not ended`);
        made += this.#tokens[index]![request]!;
      }
      assert(recorder.open === 0, () => `requests: engine ${index} has ${recorder.open} open`);
      assert(recorder.tokens === made, () => `requests: ${recorder.tokens} recorded, ${made} made`);
    });
  }

  #listen(index: number): void {
    const { recorder, requests } = this.#cluster.members[index]!;
    const tokens = this.#tokens[index]!;
    const token = recorder.token.bind(recorder);
    recorder.token = (request, isFirst, gapNs, nowNs) => {
      assert(this.isOpen(index, request), () => `requests: a token for ${request}, which ended`);
      assert(isFirst === (tokens[request] === 0), () => `requests: ${request} starts twice`);
      if (isFirst) this.#checkFirst(index, request, nowNs);
      assert(gapNs > 0, () => `requests: a gap of ${gapNs} ns`);
      tokens[request]!++;
      this.#progressNs[index] = nowNs;
      return token(request, isFirst, gapNs, nowNs);
    };
    const finished = recorder.finished.bind(recorder);
    recorder.finished = (request, nowNs) => {
      const [made, due] = [tokens[request]!, requests.outputTokens[request]!];
      assert(made === due, () => `requests: ${request} finished with ${made} of ${due} tokens`);
      this.ended(index, request, "finished");
      finished(request, nowNs);
    };
    const failed = recorder.failed.bind(recorder);
    recorder.failed = (request, reason, nowNs) => {
      this.ended(index, request, reason);
      failed(request, reason, nowNs);
    };
    const note = recorder.note.bind(recorder);
    recorder.note = (kind, value, nowNs) => {
      if (kind === "step") this.#steppedNs[index] = nowNs;
      note(kind, value, nowNs);
    };
  }

  /** The first token comes after the prompt has been computed. */
  #checkFirst(index: number, request: number, nowNs: number): void {
    const { requests } = this.#cluster.members[index]!;
    const { maxBatchTokens, model } = this.#run.scenario.engines[index]!;
    const cost = this.#costs[index]!;
    const prompt = requests.promptTokens[request]!;
    const steps = Math.ceil(prompt / maxBatchTokens);
    const leastNs = steps * cost.hostNs + model.layers * cost.linearLayerNs(prompt) * 0.99;
    const ttftNs = nowNs - requests.arrivalNs[request]!;
    assert(ttftNs >= leastNs, () => `requests: TTFT of ${ttftNs} ns, prefill takes ${leastNs} ns`);
  }
}
