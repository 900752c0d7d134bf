/** What is computed again because a lender is gone is the loans' doing, all of it. */

import { expect, it, vi } from "vitest";
import { LoanAccounts } from "../../src/engine/loan-accounts.ts";
import { readScenario, systemsByName } from "../../src/scenario/index.ts";
import { buildCluster, Digest } from "../../src/sim/index.ts";

const BORROWER = 0;
const LENDER = 1;
/** Lenders of the scenario do not run before their first burst. */
const LOST_NS = 15e9;

it("charges loans with sequences whose blocks were lost", () => {
  const scenario = readScenario("scenarios/paper-a100-40.yaml", { set: [], traces: [] });
  const [ema] = systemsByName(scenario, ["ema"]);
  const setting = { name: "growth-10", growthShare: 0.1 };
  const cluster = buildCluster(scenario, ema!, 1, setting, new Digest());
  const { kv, counters } = cluster.members[BORROWER]!.engine;
  while (cluster.nowNs < LOST_NS) cluster.step();
  expect(kv.usedBlocks(1 + LENDER)).toBeGreaterThan(0);
  const charged = vi.spyOn(LoanAccounts.prototype, "chargeRecompute");
  const before = counters.preemptions;
  cluster.removeEngine(LENDER);
  while (kv.usedBlocks(1 + LENDER) > 0) cluster.step();
  const ofLoans = charged.mock.calls.map(([, , isShrinking]) => isShrinking);
  charged.mockRestore();
  expect(counters.preemptions).toBeGreaterThan(before);
  expect(ofLoans).toEqual(Array(counters.preemptions - before).fill(true));
});
