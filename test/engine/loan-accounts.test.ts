// What loans earn: the tokens of a step beyond those that own memory alone would have made.

import { describe, expect, it } from "vitest";
import type { EngineOptions } from "../../src/engine/engine-options.ts";
import { LoanAccounts } from "../../src/engine/loan-accounts.ts";
import type { StepTiming } from "../../src/engine/step-timing.ts";
import { StepCost } from "../../src/engine/step-cost.ts";
import type { CostModel } from "../../src/hardware/index.ts";
import type { Arena, KvCache } from "../../src/kvcache/index.ts";
import type { Pool, PoolCommand } from "../../src/pool/index.ts";
import type { Batch, Scheduler } from "../../src/scheduler/index.ts";

const LAYERS = 2;
/** A step costs 1 ms whatever is in it: twice the sequences make twice the tokens. */
const FLAT: CostModel = {
  hbmBytesPerSecond: 1e12,
  hostNs: 0,
  linearLayerNs: () => 0.5e6,
  headNs: () => 0,
  decodeAttentionLayerNs: () => 0,
  prefillAttentionLayerNs: () => 0,
  sources: [],
};
const STEP_NS = 1e6;
const LONG_NS = 60e9;
/** 100 own slices of one block; lenders 1 and 2. */
const OWN = 100;

interface State {
  readonly local: number;
  readonly atLenders: readonly [number, number];
  readonly sequences: number;
  /** Of them, left out of the step, with so many blocks each. */
  readonly skipped?: number;
  readonly skippedBlocks?: number;
}

/** A sequence that is computed again, and what becomes of the loans. */
interface Recompute {
  readonly tokens: number;
  /** After the step with the loans. */
  readonly laterNs: number;
  readonly isRecalled?: boolean;
  /** Slices of lender 1 that have gone back by then. */
  readonly returned?: number;
  /** Slices more of lender 1, of a loan that had gone back long before. */
  readonly earlier?: number;
}

function settled(state: State, stepNs = STEP_NS, recompute?: Recompute) {
  const { local, atLenders, sequences, skipped = 0, skippedBlocks = 0 } = state;
  const used = [local, 0, ...atLenders, 0];
  const served = sequences - skipped;
  const blocks = local + atLenders[0] + atLenders[1];
  const slices = { heldRows: Int32Array.from([OWN, 0, atLenders[0], atLenders[1], 0]) };
  const kv = {
    sourceCount: 5,
    slices,
    usedBlocks: (source: number) => used[source]!,
    layout: { blocksPerSlice: 1 },
    isActive: (row: number) => row >= skipped,
    blockCount: (row: number) =>
      row < skipped ? skippedBlocks : (blocks - skipped * skippedBlocks) / served,
  } as unknown as KvCache;
  const batch = { decodeSequences: served, decodeContextTokens: served * 100 } as Batch;
  const scheduler = {
    rotation: { skippedCount: skipped, parkedCount: 0 },
    sequences: { count: sequences, order: Int32Array.from({ length: sequences }, (_, i) => i) },
    batch,
  } as unknown as Scheduler;
  const options = { engineCount: 3, ownSlices: OWN, cost: FLAT, layout: { layers: LAYERS } };
  const accounts = new LoanAccounts(
    options as unknown as EngineOptions,
    kv,
    scheduler,
    new StepCost(FLAT, LAYERS),
  );
  const timing = { startNs: 0, endNs: stepNs, localNs: STEP_NS } as StepTiming;
  if (recompute?.earlier !== undefined) {
    slices.heldRows[2]! += recompute.earlier;
    accounts.earn({ ...batch, decodeSequences: 0 } as Batch, { ...timing, endNs: -LONG_NS });
    slices.heldRows[2]! -= recompute.earlier;
  }
  accounts.earn(batch, timing);
  const told: Record<number, { earned: number; produced: number }> = {};
  const pool = {
    apply: (command: PoolCommand) => {
      if (command.type !== "SettleAccount") return;
      told[command.lender] = { earned: command.earnedTokens, produced: command.producedTokens };
    },
  } as unknown as Pool;
  if (recompute !== undefined) {
    const { tokens, laterNs, isRecalled = false, returned = 0 } = recompute;
    slices.heldRows[2]! -= returned;
    accounts.chargeRecompute(tokens, STEP_NS, isRecalled, stepNs + laterNs);
  }
  accounts.settle({ engine: 0 } as Arena, pool, 5e9);
  return told;
}

describe("a loan's account", () => {
  it("earns what own memory would not have held, less a hundredth, by blocks held", () => {
    // 200 sequences in 200 blocks; own memory holds 99 of them, all but one sequence's part.
    const told = settled({ local: 99, atLenders: [76, 25], sequences: 200 });
    const expected = 200 - 99 - 0.01 * 200;
    expect(told[1]!.earned).toBeCloseTo((expected * 76) / 101, 6);
    expect(told[2]!.earned).toBeCloseTo((expected * 25) / 101, 6);
    expect(told[1]!.produced).toBeCloseTo((200 * 76) / 101, 6);
  });

  it("loses where steps grow by more than the batch", () => {
    // 105 sequences instead of 99, in steps a tenth longer.
    const told = settled({ local: 99, atLenders: [6, 0], sequences: 105 }, 1.1 * STEP_NS);
    expect(told[1]!.earned).toBeCloseTo(105 - 1.1 * 99 - 1.05, 6);
    expect(told[1]!.earned).toBeLessThan(0);
  });

  it("loses where more memory is held and no more is served", () => {
    // Twenty blocks more than own memory has, and more than those of one that is left out.
    const state = { local: 95, atLenders: [25, 0], sequences: 41 } as const;
    const told = settled({ ...state, skipped: 1, skippedBlocks: 24 });
    expect(told[1]!.earned).toBeLessThan(0);
    expect(settled(state)[1]!.earned).toBeGreaterThan(0);
  });

  it("is nobody's where nothing is at a lender", () => {
    expect(settled({ local: 90, atLenders: [0, 0], sequences: 90 })).toEqual({});
  });

  /** Half of all is borrowed, but for a hundredth: a batch of 1,024 tokens displaces 200. */
  const full = { local: 99, atLenders: [101, 0], sequences: 200 } as const;
  const charged = (recompute: Recompute): number =>
    settled(full)[1]!.earned - settled(full, STEP_NS, recompute)[1]!.earned;

  it("is charged what is computed again because loans go back", () => {
    expect(charged({ tokens: 1024, laterNs: 1e9, isRecalled: true })).toBeCloseTo(200, 6);
    expect(charged({ tokens: 1024, laterNs: 1e9, returned: 1 })).toBeCloseTo(200, 6);
  });

  it("is charged its part of what is computed again while they stay", () => {
    expect(charged({ tokens: 1024, laterNs: 1e9 })).toBeCloseTo((200 * 101) / 200, 6);
  });

  it("is charged its part where a larger loan went back long before", () => {
    expect(charged({ tokens: 1024, laterNs: 1e9, earlier: 9 })).toBeCloseTo((200 * 101) / 200, 6);
  });

  it("is charged all of it where links leave somebody out", () => {
    const rotating = { ...full, skipped: 20, skippedBlocks: 1 };
    const spared = settled(rotating)[1]!.earned;
    const again = settled(rotating, STEP_NS, { tokens: 1024, laterNs: 1e9 })[1]!.earned;
    // Twenty of the two hundred are left out, so that a step makes 180 tokens.
    expect(spared - again).toBeCloseTo(180, 6);
  });

  it("is charged nothing two seconds after the last step with a loan", () => {
    expect(charged({ tokens: 1024, laterNs: 3e9, isRecalled: true })).toBe(0);
  });
});
