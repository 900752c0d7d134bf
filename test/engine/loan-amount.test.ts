/** How much to borrow and how to read it: against every amount and split, and who counts. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LinkRates, SHARE_USED } from "../../src/engine/link-rates.ts";
import { LoanForecast } from "../../src/engine/loan-forecast.ts";
import { LoanAmount, type LoanAmountParts } from "../../src/engine/loan-amount.ts";
import { PromptTime } from "../../src/engine/prompt-time.ts";
import { TokenTimes } from "../../src/engine/token-times.ts";
import { StepCost } from "../../src/engine/step-cost.ts";
import type { CostModel } from "../../src/hardware/index.ts";
import { createKvLayout, type KvCache } from "../../src/kvcache/index.ts";
import type { AccessMode } from "../../src/prefetch/index.ts";

const SLICE_BYTES = 64 * 1024 * 1024;
const LAYERS = 40;
const COPY_NS = 2300;

interface Case {
  readonly mode: AccessMode;
  readonly ownSlices: number;
  readonly slicesMax: number;
  readonly groupLayers: number;
  readonly sequenceBlocks: number;
  /** Bytes of KV a token; a multiple of the layers. */
  readonly tokenBytes: number;
  readonly portBytesPerNs: number;
  readonly hbmBytesPerNs: number;
  readonly linearLayerNs: number;
}

interface Peer {
  readonly held: number;
  readonly idle: number;
  readonly isRunning: boolean;
  readonly borrowers: number;
}

/** A machine whose linear part is a constant and whose attention is bytes over bandwidth. */
function costOf({ linearLayerNs, hbmBytesPerNs, tokenBytes }: Case): CostModel {
  const layerBytes = tokenBytes / LAYERS;
  return {
    hostNs: 3e6,
    hbmBytesPerSecond: hbmBytesPerNs * 1e9,
    linearLayerNs: () => linearLayerNs,
    headNs: () => 4e5,
    decodeAttentionLayerNs: (_: number, tokens: number) => (tokens * layerBytes) / hbmBytesPerNs,
  } as unknown as CostModel;
}

function amountOf(of: Case, peers: readonly Peer[], lenderShare: number | null = 0.02) {
  const layout = createKvLayout(of.tokenBytes, LAYERS, 16, SLICE_BYTES);
  const port = of.portBytesPerNs * 1e9;
  const count = peers.length + 1;
  const slices = { heldRows: Int32Array.of(of.ownSlices, 0, ...peers.map(({ held }) => held), 0) };
  const kv = { layout, slices, sourceCount: count + 2 } as unknown as KvCache;
  const link = { portBytesPerSecond: port, copyCostNs: COPY_NS, latencyNs: 7500 };
  const held = of.ownSlices * layout.blocksPerSlice;
  const sequences = Math.max(1, Math.floor(held / of.sequenceBlocks));
  const paths = new Float64Array(count + 2).fill(port);
  const hbmBytesPerSecond = new Float64Array(count + 2).fill(of.hbmBytesPerNs * 1e9);
  const parts = {
    pool: {
      idleSlices: (lender: number) => (lender === 0 ? 0 : peers[lender - 1]!.idle),
      isRunning: (lender: number) => lender > 0 && peers[lender - 1]!.isRunning,
      readableBytesPerSecond: () => port,
      borrowersOf: (lender: number) => peers[lender - 1]!.borrowers,
    },
    arena: { engine: 0 },
    kv,
    scheduler: {
      sequences: { count: sequences },
      waiting: { size: 10_000 },
      claims: { usedBlocks: sequences * of.sequenceBlocks, claimedBlocks: 0, growthBlocks: 0 },
    },
    rates: new LinkRates({
      pathBytesPerSecond: paths,
      portBytesPerSecond: port,
      lenderShare,
      hbmBytesPerSecond,
    }),
    cost: new StepCost(costOf(of), LAYERS),
    promptTime: new PromptTime(),
    tokenTimes: new TokenTimes(),
    forecast: new LoanForecast({ mode: of.mode, link, layout, groupLayers: of.groupLayers }),
  };
  const options = { ownSlices: of.ownSlices, engineCount: count, maxSequences: 10_000 };
  const amount = new LoanAmount(
    { ...options, tpotTargetNs: 1e12, growthShare: 0 },
    parts as unknown as LoanAmountParts,
  );
  return { amount, layout, sequences };
}

/** Tokens a nanosecond with so many borrowed slices, the best of a hundred splits. */
function bestRate(of: Case, slices: number): number {
  const layout = createKvLayout(of.tokenBytes, LAYERS, 16, SLICE_BYTES);
  const payload = layout.blocksPerSlice * layout.blockBytes;
  const remote = (slices * payload) / LAYERS;
  const { groupLayers } = of;
  const splits = of.mode === "mixed" ? 100 : 1;
  let best = 0;
  for (let split = 0; split <= splits; split++) {
    if (of.mode !== "mixed" && split !== (of.mode === "staged" ? 1 : 0)) continue;
    const staged = (remote * split) / splits;
    const ringSlices = Math.ceil((2 * groupLayers * staged) / SLICE_BYTES);
    const own = (of.ownSlices - ringSlices) * payload;
    if (own < 0) continue;
    const sequences = (own + slices * payload) / (of.sequenceBlocks * layout.blockBytes);
    const count = Math.max(1, Math.round(sequences));
    const direct = remote - staged;
    const attention = (count * of.sequenceBlocks * 16 * of.tokenBytes) / LAYERS / of.hbmBytesPerNs;
    const linear = of.linearLayerNs + staged / of.hbmBytesPerNs;
    const reads = Math.max(attention - direct / of.hbmBytesPerNs, direct / of.portBytesPerNs);
    const runs = staged / (layout.blocksPerSlice * layout.blockLayerBytes);
    const copies = (runs * COPY_NS * Math.ceil(LAYERS / groupLayers)) / LAYERS;
    const link = copies + remote / of.portBytesPerNs;
    const stepNs = Math.max(
      3e6 + 4e5 + LAYERS * (linear + reads),
      LAYERS * link,
      4e5 + groupLayers * reads + (LAYERS - groupLayers) * link,
      3.4e6 + groupLayers * (linear + 2 * reads) + (LAYERS - 2 * groupLayers) * link,
    );
    best = Math.max(best, sequences / stepNs);
  }
  return best;
}

const anyCase: fc.Arbitrary<Case> = fc.record({
  mode: fc.constantFrom("mixed", "staged", "direct"),
  ownSlices: fc.integer({ min: 60, max: 200 }),
  slicesMax: fc.integer({ min: 1, max: 300 }),
  groupLayers: fc.integer({ min: 1, max: 4 }),
  sequenceBlocks: fc.integer({ min: 10, max: 80 }),
  tokenBytes: fc.integer({ min: 2, max: 20 }).map((times) => times * LAYERS * 1024),
  portBytesPerNs: fc.integer({ min: 25, max: 400 }),
  hbmBytesPerNs: fc.integer({ min: 800, max: 4000 }),
  linearLayerNs: fc.integer({ min: 1e5, max: 1e6 }),
});

const A100: Case = {
  mode: "mixed",
  ownSlices: 123,
  slicesMax: 0,
  groupLayers: 1,
  sequenceBlocks: 32,
  tokenBytes: 20 * LAYERS * 1024,
  portBytesPerNs: 276,
  hbmBytesPerNs: 1244,
  linearLayerNs: 5e5,
};
const IDLE: Peer = { held: 0, idle: 100, isRunning: false, borrowers: 0 };
const BUSY: Peer = { ...IDLE, isRunning: true };

describe("how many slices are best", () => {
  it("comes within three hundredths of every amount and every split of it", () => {
    fc.assert(
      fc.property(anyCase, (of) => {
        const peers = [{ ...IDLE, idle: of.slicesMax }];
        const { amount } = amountOf(of, peers);
        const { slices } = amount.bestSlices(of.slicesMax, 0, amount.sources());
        expect(slices).toBeLessThanOrEqual(of.slicesMax);
        let best = 0;
        for (let other = 0; other <= of.slicesMax; other++) {
          best = Math.max(best, bestRate(of, other));
        }
        expect(bestRate(of, slices)).toBeGreaterThanOrEqual(0.97 * best);
      }),
      { numRuns: 150, seed: 3 },
    );
  });

  it("counts of a running lender what its share carries within a step", () => {
    const { amount, layout, sequences } = amountOf(A100, [IDLE, BUSY]);
    const stepNs = 3.4e6 + LAYERS * 5e5 + (sequences * 512 * A100.tokenBytes) / 1244;
    const bytes = SHARE_USED * 0.02 * 1244 * stepNs;
    const sources = amount.sources();
    expect([...sources.idleSlices]).toEqual([0, 100, Math.floor(bytes / layout.sliceBytes)]);
    expect(sources.sharedSlices).toBe(sources.idleSlices[2]);
    expect(sources.pathBytesPerSecond[2]).toBeCloseTo(0.02 * 1244e9);
    expect(amount.bestSlices(sources.sharedSlices, 0, sources).slices).toBe(sources.sharedSlices);
  });

  it("shares a running lender with those who borrow from it, itself among them", () => {
    const shareOf = (peer: Peer): number => {
      const sources = amountOf(A100, [peer]).amount.sources();
      return sources.heldSlices[1]! + sources.idleSlices[1]!;
    };
    const alone = shareOf(BUSY);
    expect(shareOf({ ...BUSY, borrowers: 1 })).toBe(Math.floor(alone / 2));
    expect(shareOf({ ...BUSY, borrowers: 1, held: 4 })).toBe(alone);
    expect(shareOf({ ...BUSY, borrowers: 1, held: 50 })).toBe(alone);
    expect(shareOf({ ...BUSY, idle: 3 })).toBe(3);
  });

  it("takes running lenders for idle ones without pacing, and leaves them with no share", () => {
    expect(amountOf(A100, [BUSY], null).amount.sources().idleSlices[1]).toBe(100);
    expect(amountOf(A100, [BUSY], 0).amount.sources().idleSlices[1]).toBe(0);
  });
});
