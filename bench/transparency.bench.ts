/**
 * Is borrowed memory as good as local? Step times with all KV local, with half of it borrowed and
 * prefetched, and with half of it borrowed and fetched on demand, in one run.
 *
 * `npx tsx bench/transparency.bench.ts [steps]`. Real bytes and real math: a compute thread and a
 * copy thread on two emulated devices, the staging of the engine in real time. Links are paced so
 * that a step's transfers take 80 % of its compute, which is measured first. Modes take turns, so
 * that all meet the same machine; its load is printed. Ratios count, times do not.
 */

import { loadavg, cpus } from "node:os";
import { parseArgs } from "node:util";
import { createEmulatedServer, UNPACED_LINKS, type EmulatedServer } from "../src/device/index.ts";
import { createKvLayout } from "../src/kvcache/index.ts";
import {
  Decoder,
  decoderBytes,
  kvBytesPerToken,
  type ModelConfig,
} from "../src/model/index.ts";
import { randomWeights } from "../src/model/random-checkpoint.ts";
import { ComputeThread } from "../src/serving/compute-handle.ts";
import { State } from "../src/serving/compute-protocol.ts";
import { CopyHub } from "../src/serving/copy-hub.ts";
import { KvGeometry } from "../src/serving/kv-geometry.ts";
import { Staging } from "../src/serving/staging.ts";
import type { StepTables } from "../src/serving/step-tables.ts";
import { runTool, wholeNumber } from "../tools/command-line.ts";

const MODEL: ModelConfig = {
  layers: 8,
  hidden: 256,
  heads: 8,
  kvHeads: 8,
  headDim: 32,
  ffn: 512,
  vocab: 512,
  contextTokensMax: 4096,
  normEps: 1e-5,
  ropeTheta: 10_000,
  ropePairs: "neighbours",
  ropeScaling: { kind: "none" },
  isTied: true,
};
const SEQUENCES = 16;
const CONTEXT_TOKENS = 512;
const BLOCK_TOKENS = 16;
const SLICE_BLOCKS = 32;
const LINK_SHARE = 0.8;
const PAGE_BYTES = 65_536;
/** A compute thread that changed nothing for so long is looked at again. */
const LOOK_MS = 0.2;

const MODES = ["local", "prefetched", "on demand"] as const;
type Mode = (typeof MODES)[number];

const tokenBytes = kvBytesPerToken(MODEL);
const sliceBytes = tokenBytes * BLOCK_TOKENS * SLICE_BLOCKS;
const layout = createKvLayout(tokenBytes, MODEL.layers, BLOCK_TOKENS, sliceBytes);
const blocks = (SEQUENCES * CONTEXT_TOKENS) / BLOCK_TOKENS;
const slices = blocks / SLICE_BLOCKS;
/** Half of the blocks of two layers: rows of the ring. */
const ringSlices = Math.ceil((2 * (blocks / 2)) / (SLICE_BLOCKS * MODEL.layers)) + 1;
const limits = { batchTokensMax: SEQUENCES, sampleRowsMax: SEQUENCES };

interface StepMs {
  readonly totalMs: number;
  /** Layer groups waited so long for their staged blocks. */
  readonly waitMs: number;
}

/** Devices 0 (borrower) and 1 (lender) with everything on them, under links of some speed. */
class Setup {
  readonly server: EmulatedServer;
  readonly thread: ComputeThread;
  readonly hub: CopyHub;
  readonly geometry: KvGeometry;
  readonly staging: Staging;

  private constructor(server: EmulatedServer, thread: ComputeThread, geometry: KvGeometry) {
    this.server = server;
    this.thread = thread;
    this.geometry = geometry;
    const copies = server.devices.map((device) => device.copies);
    this.hub = new CopyHub(copies, 2, () => Infinity);
    const { gates } = thread;
    this.staging = new Staging({ hub: this.hub, geometry, device: 0, gates, now: nowNs });
    this.staging.setRing(Array.from({ length: ringSlices }, (_, row) => 2 * slices + row));
  }

  static async create(deviceBytesPerSecond: number): Promise<Setup> {
    const kvBytes = slices * sliceBytes;
    const rest = decoderBytes(MODEL, limits) + 8 * PAGE_BYTES;
    const server = await createEmulatedServer({
      devices: [
        { capacityBytes: kvBytes + ringSlices * sliceBytes + rest },
        { capacityBytes: kvBytes + PAGE_BYTES },
      ],
      links: { ...UNPACED_LINKS, deviceBytesPerSecond },
      time: "real",
    });
    const { memory, compute } = server.devices[0]!;
    const own = memory.allocate((slices + ringSlices) * sliceBytes)!;
    const lent = server.devices[1]!.memory.allocate(kvBytes)!;
    const rows = (base: number, count: number): number[] =>
      Array.from({ length: count }, (_, row) => base + row * sliceBytes);
    const ring = rows(own + kvBytes, ringSlices);
    const rowAddress = Float64Array.from([...rows(own, slices), ...rows(lent, slices), ...ring]);
    const geometry = new KvGeometry(layout, 1, rowAddress);
    const scratch = { address: memory.allocate(geometry.groupBlockBytes(0))! };
    const parts = { config: MODEL, memory, compute, limits };
    const decoder = new Decoder(parts, randomWeights(MODEL, 1));
    const thread = await ComputeThread.start({
      handle: server.handle,
      device: 0,
      config: MODEL,
      limits,
      place: decoder.place,
      layout,
      groupLayers: 1,
      scratch,
    });
    return new Setup(server, thread, geometry);
  }

  async close(): Promise<void> {
    await this.thread.close();
    await this.server.close();
  }

  /** One decode step of all sequences: how long it took, and how long groups waited in it. */
  step(mode: Mode): StepMs {
    const borrowed = mode === "local" ? [] : borrowedHandles();
    this.staging.units.assign(borrowed.map((handle) => ({ handle, epoch: 0, place: 1 })));
    const { ringAddress } = this.staging;
    // On demand is staging that learns of each group only when the one before has been computed.
    const lookahead = mode === "on demand" ? 1 : undefined;
    this.staging.begin({ firstNs: nowNs(), groupNs: 0 }, lookahead);
    const tables = tablesOf(this.geometry, mode, (handle) => this.staging.units.unitOf(handle));
    this.thread.order({ kind: "step", tables, ringAddress, hostNs: 0 });
    for (;;) {
      const { changes, state, groupsDone } = this.thread;
      this.hub.pump(nowNs());
      this.staging.pump(groupsDone);
      if (state !== State.Running) break;
      this.thread.waitForChange(changes, LOOK_MS);
    }
    const { startNs, endNs, waitNs } = this.thread.takeResult();
    return { totalMs: (endNs - startNs) / 1e6, waitMs: waitNs / 1e6 };
  }
}

/** Every second slice of each sequence lies with the lender. */
function borrowedHandles(): number[] {
  const handles: number[] = [];
  for (let block = 0; block < blocks; block++) {
    const handle = handleOf(block, "prefetched");
    if (handle >= slices * SLICE_BLOCKS) handles.push(handle);
  }
  return handles;
}

function handleOf(block: number, mode: Mode): number {
  const slice = Math.floor(block / SLICE_BLOCKS);
  // The newest blocks are open, and local.
  const blocksEach = CONTEXT_TOKENS / BLOCK_TOKENS;
  const isOpen = block % blocksEach === blocksEach - 1;
  const isBorrowed = mode !== "local" && slice % 2 === 1 && !isOpen;
  return isBorrowed ? slices * SLICE_BLOCKS + block : block;
}

function tablesOf(
  geometry: KvGeometry,
  mode: Mode,
  unitOf: (handle: number) => number,
): StepTables {
  const sequences = Array.from({ length: SEQUENCES }, (_, index) => index);
  const blocksEach = CONTEXT_TOKENS / BLOCK_TOKENS;
  const handles = Int32Array.from({ length: blocks }, (_, block) => handleOf(block, mode));
  const sample = { temperature: 0, topP: 1, seed: 0, position: CONTEXT_TOKENS, topLogprobs: null };
  return {
    rows: Int32Array.from(sequences),
    requests: Int32Array.from(sequences),
    pastTokens: new Int32Array(SEQUENCES).fill(CONTEXT_TOKENS - 1),
    firstToken: Int32Array.from({ length: SEQUENCES + 1 }, (_, index) => index),
    ids: Int32Array.from(sequences, (index) => index + 1),
    samples: sequences.map(() => sample),
    firstBlock: Int32Array.from({ length: SEQUENCES + 1 }, (_, index) => index * blocksEach),
    handles,
    sliceAddress: Float64Array.from(
      handles,
      (handle) => geometry.rowAddress[Math.floor(handle / SLICE_BLOCKS)]!,
    ),
    stagedUnit: mode === "local" ? new Int32Array(blocks).fill(-1) : handles.map(unitOf),
    remoteBlocks: mode === "local" ? 0 : borrowedHandles().length,
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

function nowNs(): number {
  return Number(process.hrtime.bigint());
}

async function main(args: string[]): Promise<void> {
  const { positionals } = parseArgs({ args, allowPositionals: true });
  const steps = wholeNumber("STEPS", positionals[0] ?? "40");
  const load = loadavg()[0]!;
  const keepAlive = setInterval(() => undefined, 1 << 30);
  const first = await Setup.create(Infinity);
  const localMs = median(Array.from({ length: steps }, () => first.step("local").totalMs));
  await first.close();
  const bytes = borrowedHandles().length * layout.blockBytes;
  const rate = bytes / (LINK_SHARE * localMs * 1e-3);
  const setup = await Setup.create(rate);
  const times = new Map<Mode, StepMs[]>(MODES.map((mode) => [mode, []]));
  for (let step = 0; step < steps; step++) {
    // Three in a row, so that a forecast of the step before can come true; the last is counted.
    for (const mode of MODES) {
      for (let turn = 0; turn < 2; turn++) setup.step(mode);
      times.get(mode)!.push(setup.step(mode));
    }
  }
  await setup.close();
  clearInterval(keepAlive);
  const mb = (value: number): string => (value / 1e6).toFixed(1);
  console.log(`${cpus().length} x ${cpus()[0]!.model}, load ${load.toFixed(1)} at the start`);
  console.log(`load at the end ${loadavg()[0]!.toFixed(1)}, kernels ${setup.server.kernels}`);
  console.log(`${SEQUENCES} sequences of ${CONTEXT_TOKENS} tokens, ${mb(bytes)} MB borrowed`);
  console.log(`link ${mb(rate)} MB/s: transfers take ${LINK_SHARE * 100} % of compute`);
  const localStepMs = median(times.get("local")!.map(({ totalMs }) => totalMs));
  for (const mode of MODES) {
    const totalMs = median(times.get(mode)!.map((step) => step.totalMs));
    const waitMs = median(times.get(mode)!.map((step) => step.waitMs));
    const ratio = (localStepMs / totalMs).toFixed(3);
    const parts = `${totalMs.toFixed(2)} ms a step, ${waitMs.toFixed(2)} of it waiting`;
    console.log(`${mode.padEnd(10)}  ${parts}: ${ratio} of local`);
  }
}

await runTool("npx tsx bench/transparency.bench.ts [STEPS]", main);
