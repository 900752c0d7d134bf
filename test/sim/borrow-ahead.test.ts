/** Engines that borrow ahead of their requests: what they offer comes home for a loan, or stays. */

import { expect, it } from "vitest";
import type { Pool, PoolCommand } from "../../src/pool/index.ts";
import { readScenario, systemsByName } from "../../src/scenario/index.ts";
import { buildCluster } from "../../src/sim/build-cluster.ts";
import { Digest } from "../../src/sim/digest.ts";

const SECONDS = 100;
const BORROWER = 0;

/** One engine near what its own memory serves, beside three that are mostly idle. */
function nearlyFull(borrowLimit: string) {
  const lengths = "{ prompt: 161, output: 338, maxPrompt: 1024 }";
  const workload = `{ arrivals: poisson, rate: 1.2, seconds: ${SECONDS}, lengths: ${lengths} }`;
  const set = [`engines.borrower.workload=${workload}`, `pool.borrowLimit=${borrowLimit}`];
  const scenario = readScenario("scenarios/paper-a100-40.yaml", { set, traces: [] });
  const [ema] = systemsByName(scenario, ["ema"]);
  let [loans, inVain, withdrawnNs] = [0, 0, -1];
  const watch = ({ type, engine }: PoolCommand, nowNs: number): void => {
    if (engine !== BORROWER) return;
    if (type === "WithdrawSlices") withdrawnNs = nowNs;
    if (type === "OfferSlices" && withdrawnNs === nowNs) inVain++;
  };
  const setting = { name: "growth-10", growthShare: 0.1 };
  const cluster = buildCluster(scenario, ema!, 1, setting, new Digest(), {
    pool: (pool) => watched(pool, watch),
  });
  const { arena, scheduler } = cluster.members[BORROWER]!.engine;
  let isAhead = false;
  while (cluster.step() && cluster.nowNs < SECONDS * 1e9) {
    if (loans === 0 && arena.borrowedSlices > 0) isAhead = !scheduler.wasMemoryShort;
    loans = Math.max(loans, arena.borrowedSlices);
  }
  return { loans, isAhead, inVain };
}

/** The same pool; each command is shown before it is executed. */
function watched(pool: Pool, watch: (command: PoolCommand, nowNs: number) => void): Pool {
  const apply = pool.apply.bind(pool);
  pool.apply = (command, nowNs) => {
    watch(command, nowNs);
    apply(command, nowNs);
  };
  return pool;
}

it("takes home what it offers for a loan, before anybody waits", () => {
  const { isAhead, inVain } = nearlyFull("100%");
  expect([isAhead, inVain]).toEqual([true, 0]);
});

it("goes on to offer what it has where it would get no loan", () => {
  expect(nearlyFull("0")).toMatchObject({ loans: 0, inVain: 0 });
});
