/**
 * Puts real bytes and a real decoder under a simulated cluster, engine by engine.
 *
 * Used by the proofs in virtual time. The scenario's models say how long things take; what is
 * computed is a tiny decoder with as many layers, whose slices hold as many blocks.
 */

import { sliceId } from "../../src/base/index.ts";
import {
  createEmulatedServer,
  type DeviceMemory,
  type EmulatedServer,
} from "../../src/device/index.ts";
import { groupLayersFor, type EngineSink, type StepRunner } from "../../src/engine/index.ts";
import { createKvLayout, type KvLayout } from "../../src/kvcache/index.ts";
import {
  Decoder,
  decoderBytes,
  kvBytesPerToken,
  type DecoderLimits,
} from "../../src/model/index.ts";
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
import { CostModels } from "../../src/sim/cost-models.ts";
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
  readonly #server: EmulatedServer;
  readonly #mover: ByteMover;
  readonly #seed: number;
  readonly #requestOf: RequestMaker;
  #pool: Pool | null = null;

  private constructor(
    scenario: Scenario,
    system: SystemSettings,
    seed: number,
    requestOf: RequestMaker,
    server: EmulatedServer,
  ) {
    this.#scenario = scenario;
    this.#seed = seed;
    this.#requestOf = requestOf;
    this.#server = server;
    this.#sizes = memorySizes(scenario, system);
    const memories: DeviceMemory[] = server.devices.map(({ memory }) => memory);
    for (const { memory } of server.hosts) memories.push(memory);
    this.#mover = new ByteMover(memories);
    const strideBytes = sliceStrideBytes(this.#sizes);
    const count = this.#sizes.length;
    const bases = memories.map((memory, place) => {
      const { ownSlices } = this.#sizes[place % count]!;
      return memory.allocate(ownSlices * strideBytes)!;
    });
    const rowsAt = (place: number): number[] =>
      Array.from(
        { length: this.#sizes[place % count]!.ownSlices },
        (_, slice) => bases[place]! + slice * strideBytes,
      );
    const own = this.#sizes.flatMap((_, engine) => rowsAt(engine));
    this.#geometries = this.#sizes.map(({ layout }, engine) => {
      const rows = Float64Array.from([...own, ...rowsAt(count + engine)]);
      return new KvGeometry(tinyLayout(layout), this.#groupLayers(engine, system), rows);
    });
  }

  static async create(
    scenario: Scenario,
    system: SystemSettings,
    seed: number,
    requestOf: RequestMaker,
  ): Promise<Emulation> {
    const sizes = memorySizes(scenario, system);
    const strideBytes = sliceStrideBytes(sizes);
    const server = await createEmulatedServer({
      devices: sizes.map(({ layout: { layers }, ownSlices }, engine) => ({
        capacityBytes:
          ownSlices * strideBytes +
          decoderBytes(tinyConfig(layers), limitsOf(scenario, engine)) +
          6 * PAGE_BYTES,
      })),
      hosts: sizes.map(({ ownSlices }) => ({ capacityBytes: ownSlices * strideBytes })),
      time: "virtual",
      memory: "shared",
    });
    return new Emulation(scenario, system, seed, requestOf, server);
  }

  async close(): Promise<void> {
    await this.#server.close();
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
    const { memory, compute } = this.#server.devices[engine]!;
    const limits = limitsOf(this.#scenario, engine);
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

  #groupLayers(engine: number, system: SystemSettings): number {
    const options = engineOptions(
      this.#scenario,
      system,
      this.#sizes,
      engine,
      ADMISSION_SETTINGS[0]!,
      new CostModels(this.#scenario),
    );
    return groupLayersFor(options);
  }
}

function limitsOf(scenario: Scenario, engine: number): DecoderLimits {
  const { maxBatchTokens, maxSequences } = scenario.engines[engine]!;
  return { batchTokensMax: maxBatchTokens, sampleRowsMax: maxSequences };
}

/** As many blocks of the tiny decoder as the scenario's slices hold of its model. */
function tinyLayout({ layers, blockTokens, blocksPerSlice }: KvLayout): KvLayout {
  const tokenBytes = kvBytesPerToken(tinyConfig(layers));
  return createKvLayout(tokenBytes, layers, blockTokens, tokenBytes * blockTokens * blocksPerSlice);
}

/** Borrowers with other models use a lender's slices too: room for the largest. */
function sliceStrideBytes(sizes: readonly EngineMemorySize[]): number {
  return Math.max(...sizes.map(({ layout }) => tinyLayout(layout).sliceBytes));
}
