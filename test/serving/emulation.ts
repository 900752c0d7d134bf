/**
 * Puts real bytes and a real decoder under a simulated cluster, engine by engine.
 *
 * Used by the proofs in virtual time. The scenario's models say how long things take; what is
 * computed is a tiny decoder with as many layers, whose slices hold as many blocks. Devices are
 * plain memory of this process.
 */

import { sliceId } from "../../src/base/index.ts";
import { createPlainDevices, type PlainDevice } from "../../src/device/index.ts";
import { groupLayersFor, type EngineSink, type StepRunner } from "../../src/engine/index.ts";
import { createKvLayout } from "../../src/kvcache/index.ts";
import { Decoder, decoderBytes, kvBytesPerToken } from "../../src/model/index.ts";
import type { Pool } from "../../src/pool/index.ts";
import type { Scenario, SystemSettings } from "../../src/scenario/index.ts";
import { ByteMover } from "../../src/serving/byte-mover.ts";
import { EpochWatch } from "../../src/serving/epoch-watch.ts";
import type { GenerationRequest } from "../../src/serving/index.ts";
import { KvGeometry } from "../../src/serving/kv-geometry.ts";
import { StepExecution } from "../../src/serving/step-execution.ts";
import { TokenStore } from "../../src/serving/token-store.ts";
import { VirtualCopies } from "../../src/serving/virtual-copies.ts";
import { VirtualRunner } from "../../src/serving/virtual-runner.ts";
import {
  ADMISSION_SETTINGS,
  engineOptions,
  memorySizes,
  type CostedRunner,
  type EngineMemorySize,
} from "../../src/sim/index.ts";
import type { PlantedBug } from "../sim/simulation.ts";
import type { SoloToken } from "./solo-decoder.ts";
import { tinyConfig, tinyWeights } from "./tiny-model.ts";

const PAGE_BYTES = 65_536;

/** The prompt and the sampling of a request, from its engine, number and lengths alone. */
export type RequestMaker = (
  engine: number,
  request: number,
  promptTokens: number,
  outputTokens: number,
) => GenerationRequest;

interface EmulatedEngine {
  readonly runner: VirtualRunner;
  readonly tokens: TokenStore;
  readonly requests: readonly GenerationRequest[];
  /** (requests) */
  readonly made: SoloToken[][];
}

export class Emulation {
  readonly engines: EmulatedEngine[] = [];
  readonly #scenario: Scenario;
  readonly #sizes: readonly EngineMemorySize[];
  readonly #geometries: readonly KvGeometry[];
  readonly #devices: readonly PlainDevice[];
  readonly #mover: ByteMover;
  readonly #seed: number;
  readonly #requestOf: RequestMaker;
  #pool: Pool | null = null;

  constructor(scenario: Scenario, system: SystemSettings, seed: number, requestOf: RequestMaker) {
    this.#scenario = scenario;
    this.#seed = seed;
    this.#requestOf = requestOf;
    this.#sizes = memorySizes(scenario, system);
    const layouts = this.#sizes.map(({ layout: { layers, blockTokens, blocksPerSlice } }) => {
      const tokenBytes = kvBytesPerToken(tinyConfig(layers));
      const sliceBytes = tokenBytes * blockTokens * blocksPerSlice;
      return createKvLayout(tokenBytes, layers, blockTokens, sliceBytes);
    });
    // Borrowers with other models use a lender's slices too: room for the largest.
    const strideBytes = Math.max(...layouts.map(({ sliceBytes }) => sliceBytes));
    const kvBytes = this.#sizes.map(({ ownSlices }) => ownSlices * strideBytes);
    this.#devices = createPlainDevices([
      ...layouts.map(({ layers }, index) => kvBytes[index]! + this.#decoderBytes(index, layers)),
      ...kvBytes.map((bytes) => bytes + PAGE_BYTES),
    ]);
    this.#mover = new ByteMover(this.#devices.map(({ memory }) => memory));
    const engineCount = this.#sizes.length;
    const bases = this.#devices.map(({ memory }, place) =>
      memory.allocate(kvBytes[place % engineCount]!)!,
    );
    const rowsAt = (base: number, engine: number): number[] =>
      Array.from(
        { length: this.#sizes[engine]!.ownSlices },
        (_, slice) => base + slice * strideBytes,
      );
    const own = this.#sizes.flatMap((_, engine) => rowsAt(bases[engine]!, engine));
    this.#geometries = layouts.map((layout, engine) => {
      const rows = [...own, ...rowsAt(bases[engineCount + engine]!, engine)];
      const groupLayers = this.#groupLayers(engine, system);
      return new KvGeometry(layout, groupLayers, Float64Array.from(rows));
    });
  }

  /** What runSimulation or buildCluster puts between the engines and what they use. */
  get seams(): PlantedBug {
    return {
      pool: (pool) => {
        this.#pool = pool;
        return pool;
      },
      runner: (watched, engine, costed) => this.#runner(watched, engine, costed as CostedRunner),
      copies: (watched, engine) =>
        new VirtualCopies(watched, this.#geometries[engine]!, this.#mover),
      sink: (inner, engine) => this.#sink(inner, engine),
    };
  }

  #runner(watched: StepRunner, engine: number, costed: CostedRunner): StepRunner {
    const { layers } = this.#sizes[engine]!.layout;
    const { memory, compute } = this.#devices[engine]!;
    const limits = this.#limits(engine);
    const weights = tinyWeights(this.#seed + layers);
    const decoder = new Decoder({ config: tinyConfig(layers), memory, compute, limits }, weights);
    const geometry = this.#geometries[engine]!;
    const scratch = { address: memory.allocate(geometry.groupBlockBytes(0))! };
    const tokens = new TokenStore();
    const table = this.#scenario.engines[engine]!.requests(this.#seed);
    const requests = Array.from({ length: table.count }, (_, request) => {
      const [prompt, output] = [table.promptTokens[request]!, table.outputTokens[request]!];
      return this.#requestOf(engine, request, prompt, output);
    });
    requests.forEach((request, index) => tokens.add(index, request));
    const runner = new VirtualRunner({
      costed: watched,
      resumeGroup: () => costed.resumeGroup,
      geometry,
      tokens,
      execution: new StepExecution(decoder, geometry, scratch),
      mover: this.#mover,
      epochs: new EpochWatch(
        { epochOf: (row) => this.#pool!.epochOf(sliceId(row)) },
        (row) => this.#isBorrowed(engine, row),
        geometry.layout.blocksPerSlice,
      ),
    });
    this.engines[engine] = { runner, tokens, requests, made: requests.map(() => []) };
    return runner;
  }

  #sink(inner: EngineSink, engine: number): EngineSink {
    const { runner, tokens, made } = this.engines[engine]!;
    return {
      token: (request, isFirst, gapNs, nowNs) => {
        const { id, logprob } = runner.tokenOf(request);
        tokens.append(request, id);
        made[request]!.push({ id, logprob: logprob!.logprob });
        return inner.token(request, isFirst, gapNs, nowNs);
      },
      finished: (request, nowNs) => inner.finished(request, nowNs),
      failed: (request, reason, nowNs) => inner.failed(request, reason, nowNs),
      ran: (startNs, endNs) => inner.ran(startNs, endNs),
      note: (kind, value, nowNs) => inner.note(kind, value, nowNs),
    };
  }

  #isBorrowed(engine: number, row: number): boolean {
    let first = 0;
    for (let other = 0; other < this.#sizes.length; other++) {
      const end = first + this.#sizes[other]!.ownSlices;
      if (row < end) return other !== engine;
      first = end;
    }
    return false;
  }

  #limits(engine: number): { batchTokensMax: number; sampleRowsMax: number } {
    const { maxBatchTokens, maxSequences } = this.#scenario.engines[engine]!;
    return { batchTokensMax: maxBatchTokens, sampleRowsMax: maxSequences };
  }

  #decoderBytes(engine: number, layers: number): number {
    return decoderBytes(tinyConfig(layers), this.#limits(engine)) + 6 * PAGE_BYTES;
  }

  #groupLayers(engine: number, system: SystemSettings): number {
    const options = engineOptions(
      this.#scenario,
      system,
      this.#sizes,
      engine,
      ADMISSION_SETTINGS[0]!,
    );
    return groupLayersFor(options);
  }
}
