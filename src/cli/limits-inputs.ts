/**
 * What `ema limits` is asked about a server, a model and a context, without a scenario.
 *
 * Called by limits-command.ts; limits-scenario.ts builds the same question from a scenario. It
 * turns names into numbers and computes nothing with them.
 */

import { EmaError } from "../base/index.ts";
import { pathBetween, type Gpu, type ModelShape, type Topology } from "../hardware/index.ts";
import {
  measuredBorrower,
  ownKvBytes,
  saturatedBorrower,
  type IdealInputs,
  type Lender,
  type Lengths,
  type LimitMode,
  type PracticalInputs,
} from "../limits/index.ts";
import {
  quickScenario,
  type MemoryLimit,
  type PoolSettings,
  type Scenario,
} from "../scenario/index.ts";

/** Options that hold for servers and scenarios alike; `null` where the user said nothing. */
export interface Choice {
  readonly mode: LimitMode | null;
  readonly cap: MemoryLimit | null;
  readonly peers: number | null;
}

/** What the scenario's workload adds. */
export interface WorkloadFacts {
  readonly lengths: Lengths;
  /** Output tokens its requests ask for a second, over their arrival span. */
  readonly offeredTokensPerSecond: number;
  /** Mean over the lenders of the share of the time in which they run steps. */
  readonly lenderRunShare: number;
}

/** One borrower, ready to be computed and described. */
export interface Question {
  /** Of the scenario; `null` without one. */
  readonly engineName: string | null;
  readonly serverName: string;
  readonly gpuIndex: number;
  readonly gpu: Gpu;
  readonly model: ModelShape;
  readonly cap: MemoryLimit;
  readonly ideal: IdealInputs;
  readonly practical: PracticalInputs;
  readonly workload: WorkloadFacts | null;
  readonly notes: readonly string[];
}

/**
 * GPU 0 borrows; the others run the same model and lend all their KV memory.
 *
 * @param set texts of `--set`, for pool settings.
 * @throws EmaError for unknown names, a model that does not fit, a context beyond the model's.
 */
export function inputsOfServer(
  names: { readonly server: string; readonly model: string; readonly set: readonly string[] },
  contextTokens: number,
  choice: Choice,
): Question {
  // The scenario of `ema compare` without a file: the same names, defaults and refusals.
  const scenario = quickScenario({ ...names, traces: [] });
  const { topology } = scenario;
  const { model, blockTokens } = scenario.engines[0]!;
  const pool = poolOf(scenario);
  if (contextTokens > model.contextTokensMax) {
    throw new EmaError(
      "E_ARGUMENT",
      `--context ${contextTokens}: ${model.name} holds at most ${model.contextTokensMax} tokens`,
    );
  }
  const gpu = topology.gpus[0]!;
  const borrower = saturatedBorrower(gpu, model, contextTokens);
  const mode = choice.mode ?? pool.accessMode;
  const cap = choice.cap ?? pool.borrowLimit;
  const capBytes = bytesOfCap(cap, borrower.ownKvBytes);
  const peers = peersOf(topology, 0, choice.peers);
  const lenders = peers.map((index): Lender => {
    const peer = topology.gpus[index]!;
    const bytes = ownKvBytes(peer, model);
    return {
      idleLendableBytes: bytes,
      runningLendableBytes: bytes,
      runShare: 0,
      hbmBytesPerSecond: peer.hbmBytesPerSecond,
      pathBytesPerSecond: pathBetween(topology, index, 0)?.bytesPerSecond ?? 0,
    };
  });
  return {
    engineName: null,
    serverName: topology.name,
    gpuIndex: 0,
    gpu,
    model,
    cap,
    ideal: { borrower, mode, capBytes, ...sumOfLenders(lenders) },
    practical: {
      borrower: measuredBorrower(borrower, gpu, model),
      mode,
      capBytes,
      lenders,
      lenderShare: pool.lenderShare,
      sliceBytes: pool.sliceBytes,
      blockTokens,
      copySeconds: pool.copyCostSeconds,
      latencySeconds: latencyTo(topology, 0),
      sequencesMax: Infinity,
      areSequencesWhole: false,
      prefill: null,
    },
    workload: null,
    notes: scenario.notes,
  };
}

/** The closed form answers for one pool: that of the first system that has one. */
export function poolOf(scenario: Scenario): PoolSettings {
  return scenario.systems.find(({ base }) => base === "ema")?.pool ?? scenario.pool;
}

/** The longest of all paths to `borrower`; 0 when there is none. */
export function latencyTo(topology: Topology, borrower: number): number {
  return Math.max(
    0,
    ...topology.gpus.map((_, index) => pathBetween(topology, index, borrower)?.latencySeconds ?? 0),
  );
}

/**
 * @returns the indices of the GPUs that lend to `borrower`: those with a path to it, the first
 * `count` of them when a count is given.
 * @throws EmaError when the server has fewer.
 */
export function peersOf(
  topology: Topology,
  borrower: number,
  count: number | null,
): readonly number[] {
  const reachable = topology.gpus
    .map((_, index) => index)
    .filter((index) => pathBetween(topology, index, borrower) !== null);
  if (count !== null && count > reachable.length) {
    throw new EmaError(
      "E_ARGUMENT",
      `--peers ${count}: GPU ${borrower} of ${topology.name} reaches ${reachable.length} others`,
    );
  }
  return reachable.slice(0, count ?? reachable.length);
}

/** What the ideal closed form knows of lenders: all their memory and all their paths. */
export function sumOfLenders(
  lenders: readonly Lender[],
): Pick<IdealInputs, "lendableBytes" | "pathBytesPerSecond"> {
  let lendableBytes = 0;
  let pathBytesPerSecond = 0;
  for (const lender of lenders) {
    lendableBytes += lender.idleLendableBytes;
    pathBytesPerSecond += lender.pathBytesPerSecond;
  }
  return { lendableBytes, pathBytesPerSecond };
}

export function bytesOfCap(cap: MemoryLimit, ownBytes: number): number {
  switch (cap.kind) {
    case "none":
      return Infinity;
    case "bytes":
      return cap.bytes;
    case "share":
      return cap.share * ownBytes;
  }
}
