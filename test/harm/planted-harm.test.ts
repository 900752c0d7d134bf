// Tests of the test: a policy that harms lenders is found by the sweep's first servers.

import { expect, it } from "vitest";
import type { PoolChange } from "../../tools/harm/paired-runs.ts";
import { verdictOf, type ServerVerdict } from "../../tools/harm/server-verdict.ts";

/** Few of them borrow from lenders that run: loans that would lose are left before they harm. */
const FIRST_SERVERS = 60;

/** What the first server found says, or null when all of them passed. */
function firstFinding(plant: PoolChange): string | null {
  // From the last one on: it has more engines than the first ones.
  for (let seed = FIRST_SERVERS; seed > 0; seed--) {
    const finding = harmedLender(verdictOf(seed, plant));
    if (finding !== null) return `server ${seed}: ${finding}`;
  }
  return null;
}

function harmedLender({ engines }: ServerVerdict): string | null {
  for (const { name, role, judgements } of engines) {
    const broken = judgements.find(({ isViolation }) => isViolation);
    if (role === "lender" && broken !== undefined) return `${name}: ${broken.bound}`;
  }
  return null;
}

it("reads at full speed from lenders that run are found", { timeout: 300_000 }, () => {
  const plant: PoolChange = (pool) => ({ ...pool, lenderShare: null });
  // Longer steps are both: later first tokens, and more time between the others.
  expect(firstFinding(plant)).toMatch(/^server \d+: \w+: (ttft mean|tpot p95)$/);
});
