/**
 * Sizes and settings of every engine of a server of emulated devices, before anything is made.
 *
 * Used by whoever builds the server. KV memory of an engine is 0.9 of its device less the weights,
 * in whole slices; the rest holds the decoder's workspace. It makes nothing and reads no clock.
 */

import { EmaError, engineId, formatBytes } from "../base/index.ts";
import { UNPACED_LINKS, type EmulatedLinks } from "../device/index.ts";
import { groupLayersFor, ROLE_TIMES, WAIT_TIMES, type EngineOptions } from "../engine/index.ts";
import type { CostModel, ModelShape, Topology } from "../hardware/index.ts";
import { createKvLayout, laySliceRows, type KvLayout } from "../kvcache/index.ts";
import {
  decoderBytes,
  kvBytesPerToken,
  modelShapeOf,
  weightLayout,
  workspaceLayout,
  type DecoderLimits,
  type ModelConfig,
} from "../model/index.ts";
import { lendableSlices } from "../pool/index.ts";
import type { PoolSettings } from "../scenario/index.ts";
import { ADMISSION_SETTINGS } from "../scheduler/index.ts";
import { limitSlices } from "../sim/index.ts";
import { createEmulatedCost, EMULATED_RATES, type EmulatedRates } from "./emulated-cost.ts";
import {
  SERVED_LIMITS,
  type ServedEngineOptions,
  type ServedLimits,
  type ServedServerOptions,
} from "./server-options.ts";

const PAGE_BYTES = 65_536;
const KV_SHARE = 0.9;
/** A device's memory in slices, where nothing else is said. */
const SLICES_A_DEVICE = 256;
/** What an unpaced link is planned with: a copy thread moves some 5 GB/s in memory. */
const UNPACED_BYTES_PER_SECOND = 4e9;
/** Workspaces shrink no further, even where KV has to. */
const BATCH_TOKENS_LEAST = 128;
const SEQUENCES_LEAST = 32;

const DEFAULT_POOL: Omit<PoolSettings, "sliceBytes"> = {
  borrowLimit: { kind: "share", share: 1 },
  headroom: "auto",
  lenderShare: 0.02,
  interference: "subtractive",
  accessMode: "mixed",
  copyCostSeconds: 2.3e-6,
};

export class ServerPlan {
  readonly engines: readonly ServedEngineOptions[];
  readonly layout: KvLayout;
  readonly shape: ModelShape;
  readonly decoderLimits: DecoderLimits;
  readonly limits: ServedLimits;
  readonly pool: PoolSettings;
  readonly links: EmulatedLinks;
  readonly cost: CostModel;
  readonly topology: Topology;
  /** (engines) */
  readonly ownSlices: readonly number[];
  readonly groupLayers: readonly number[];
  readonly #options: ServedServerOptions;
  readonly #rates: EmulatedRates;

  /** @throws EmaError E_MODEL_FIT when a device is too small for the model. */
  constructor(options: ServedServerOptions) {
    const { checkpoint, deviceBytes } = options;
    const { config } = checkpoint;
    this.#options = options;
    this.#rates = options.rates ?? EMULATED_RATES;
    this.engines = options.engines ?? defaultEngines(checkpoint.name, deviceBytes.length);
    this.links = options.links ?? UNPACED_LINKS;
    this.shape = modelShapeOf(config, checkpoint.name);
    this.cost = createEmulatedCost(config, this.#rates);
    const least = Math.min(...this.engines.map(({ device }) => deviceBytes[device]!));
    const limits = fittingLimits({ ...SERVED_LIMITS, ...options.limits }, config, least);
    this.limits = limits;
    this.decoderLimits = decoderLimitsOf(limits);
    const blockBytes = kvBytesPerToken(config) * limits.blockTokens;
    const share = wholePages(Math.max(least / SLICES_A_DEVICE, blockBytes));
    this.pool = { ...DEFAULT_POOL, sliceBytes: share, ...options.pool };
    const { sliceBytes } = this.pool;
    if (sliceBytes < blockBytes) {
      const text = `a slice of ${formatBytes(sliceBytes)} holds no block`;
      throw new EmaError("E_MODEL_FIT", `${text} of ${formatBytes(blockBytes)}`);
    }
    const tokenBytes = kvBytesPerToken(config);
    this.layout = createKvLayout(tokenBytes, config.layers, limits.blockTokens, sliceBytes);
    this.ownSlices = this.engines.map(({ device }) => this.#slicesOf(deviceBytes[device]!));
    this.topology = this.#topology();
    this.groupLayers = this.engines.map((_, index) => groupLayersFor(this.engineOptions(index)));
  }

  get isElastic(): boolean {
    return this.#options.isElastic ?? true;
  }

  /** Whether slices can go from one tenant to another, and must be cleared in between. */
  get hasTenants(): boolean {
    return new Set(this.engines.map(({ tenant }) => tenant)).size > 1;
  }

  /** KV bytes of all engines: what the host's memory must hold at most. */
  get kvBytes(): number {
    return this.ownSlices.reduce((sum, slices) => sum + slices * this.layout.sliceBytes, 0);
  }

  borrowLimitSlices(index: number): number {
    if (!this.isElastic) return 0;
    return limitSlices(this.pool.borrowLimit, this.ownSlices[index]!, this.pool.sliceBytes);
  }

  /** Tokens of the longest request: what the model can do, and what memory could ever hold. */
  contextTokensMax(index: number): number {
    const { ownSlices, borrowSlicesMax, layout } = this.engineOptions(index);
    const slices = ownSlices + (this.isElastic ? borrowSlicesMax : 0);
    const tokens = slices * layout.blocksPerSlice * layout.blockTokens;
    return Math.min(this.shape.contextTokensMax, tokens);
  }

  engineOptions(index: number): EngineOptions {
    const count = this.engines.length;
    const port = this.#portBytesPerSecond();
    const limit = this.borrowLimitSlices(index);
    const lent = this.ownSlices.map((own) => lendableSlices(own, this.pool));
    const others = lent.reduce((sum, slices) => sum + slices, 0) - lent[index]!;
    const { maxBatchTokens, maxSequences } = this.limits;
    const paths = Float64Array.from({ length: count + 2 }, (_, source) =>
      source === 0 || source === count + 1 || source === index + 1 ? 0 : port,
    );
    const hbm = new Float64Array(count + 2).fill(this.#rates.memoryBytesPerSecond);
    hbm[count + 1] = Infinity;
    return {
      engine: engineId(index),
      engineCount: count,
      isElastic: this.isElastic,
      layout: this.layout,
      cost: this.cost,
      ownSlices: this.ownSlices[index]!,
      slicesOf: this.ownSlices,
      borrowSlicesMax: Math.min(limit, others),
      ...laySliceRows(this.ownSlices, index, this.isElastic),
      pathBytesPerSecond: paths,
      portBytesPerSecond: port,
      hbmBytesPerSecond: hbm,
      link: this.#link(),
      lenderShare: this.pool.lenderShare,
      accessMode: this.pool.accessMode,
      headroom: this.pool.headroom,
      refillNs: WAIT_TIMES.refillNs,
      maxBatchTokens,
      maxSequences,
      contextTokensMax: this.shape.contextTokensMax,
      tpotTargetNs: (this.#options.tpotTargetSeconds ?? 0.1) * 1e9,
      admission: ADMISSION_SETTINGS[0]!,
      headTimeoutNs: WAIT_TIMES.headTimeoutNs,
      parkedMaxNs: WAIT_TIMES.parkedMaxNs,
      roleTimes: this.#options.roleTimes ?? ROLE_TIMES,
    };
  }

  #slicesOf(capacityBytes: number): number {
    const { config } = this.#options.checkpoint;
    const weights = wholePages(weightLayout(config).totalBytes);
    const rest = wholePages(decoderBytes(config, this.decoderLimits)) + 4 * PAGE_BYTES;
    const most = Math.min(KV_SHARE * capacityBytes - weights, capacityBytes - rest - PAGE_BYTES);
    const slices = Math.floor(most / this.layout.sliceBytes);
    if (slices >= 1) return slices;
    const capacity = formatBytes(capacityBytes);
    const text = `${formatBytes(weights)} of weights and ${formatBytes(rest - weights)} to work in`;
    throw new EmaError("E_MODEL_FIT", `a device of ${capacity} has no room for KV beside ${text}`);
  }

  #portBytesPerSecond(): number {
    const { deviceBytesPerSecond } = this.links;
    return Number.isFinite(deviceBytesPerSecond) ? deviceBytesPerSecond : UNPACED_BYTES_PER_SECOND;
  }

  #link(): EngineOptions["link"] {
    const { latencyNs, copyCostNs } = this.links;
    const portBytesPerSecond = this.#portBytesPerSecond();
    return { portBytesPerSecond, latencyNs, copyCostNs: Math.max(copyCostNs, 2e3) };
  }

  /** What the costed half of virtual time asks: one invented GPU for each engine. */
  #topology(): Topology {
    const portBytesPerSecond = this.#portBytesPerSecond();
    const { hostBytesPerSecond, latencyNs } = this.links;
    const { memoryBytesPerSecond, flopsPerSecond } = this.#rates;
    const host = Number.isFinite(hostBytesPerSecond) ? hostBytesPerSecond : portBytesPerSecond;
    const gpus = this.engines.map(({ device }) => ({
      name: "emulated",
      label: "emulated",
      formFactor: "pcie" as const,
      hbmBytes: this.#options.deviceBytes[device]!,
      hbmPeakBytesPerSecond: memoryBytesPerSecond * 1.2,
      hbmBytesPerSecond: memoryBytesPerSecond,
      flopsPerSecond,
      portBytesPerSecond,
      hostBytesPerSecond: host,
    }));
    const path = { bytesPerSecond: portBytesPerSecond, latencySeconds: latencyNs / 1e9 };
    const paths = gpus.flatMap((_, from) => gpus.map((__, to) => (from === to ? null : path)));
    return { name: `emulated:${gpus.length}`, wiring: "switch", gpus, paths };
  }
}

function decoderLimitsOf(limits: ServedLimits): DecoderLimits {
  return { batchTokensMax: limits.maxBatchTokens, sampleRowsMax: limits.maxSequences };
}

/** The workspace fits into what KV and weights leave: smaller batches where it must be so. */
function fittingLimits(
  limits: ServedLimits,
  config: ModelConfig,
  capacityBytes: number,
): ServedLimits {
  const room = (1 - KV_SHARE) * capacityBytes - 6 * PAGE_BYTES;
  let { maxBatchTokens, maxSequences } = limits;
  const workspace = (): number =>
    workspaceLayout(config, { batchTokensMax: maxBatchTokens, sampleRowsMax: maxSequences })
      .totalBytes;
  while (workspace() > room && maxBatchTokens > BATCH_TOKENS_LEAST) maxBatchTokens >>= 1;
  while (workspace() > room && maxSequences > SEQUENCES_LEAST) maxSequences >>= 1;
  return { ...limits, maxBatchTokens, maxSequences };
}

function defaultEngines(model: string, count: number): ServedEngineOptions[] {
  return Array.from({ length: count }, (_, device) => ({
    name: `${model}@gpu${device}`,
    device,
    tenant: "default",
  }));
}

function wholePages(bytes: number): number {
  return Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES;
}
