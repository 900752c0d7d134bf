/**
 * Leaves out requests that only loans can serve, so that paired runs do the same work.
 *
 * Called by paired-runs.ts. `static` refuses a request larger than its memory at once; `ema` serves
 * it with what others lend, and a prompt of 17,000 tokens takes seconds that others wait. That is
 * the price of serving it, not of lending: the pair would compare one amount of work with another.
 * How many are left out is told with the sweep.
 */

import type { Scenario } from "../../src/scenario/index.ts";
import type { RunRecord } from "../../src/sim/index.ts";
import type { RequestTable } from "../../src/workload/index.ts";

/** @returns (engines) rows of requests that are larger than the engine's memory. */
export function refusedBy(run: RunRecord): ReadonlySet<number>[] {
  return run.engines.map(({ requests }) => {
    const rows = new Set<number>();
    requests.failure.forEach((reason, row) => {
      if (reason === "larger-than-memory") rows.add(row);
    });
    return rows;
  });
}

/** The same server without these requests; the others come when they came. */
export function withoutRequests(
  scenario: Scenario,
  rows: readonly ReadonlySet<number>[],
): Scenario {
  const engines = scenario.engines.map((engine, index) => ({
    ...engine,
    requests: (seed: number): RequestTable => without(engine.requests(seed), rows[index]!),
  }));
  return { ...scenario, engines };
}

function without(table: RequestTable, rows: ReadonlySet<number>): RequestTable {
  const isKept = (_: number, row: number): boolean => !rows.has(row);
  return {
    count: table.count - rows.size,
    arrivalNs: table.arrivalNs.filter(isKept),
    promptTokens: table.promptTokens.filter(isKept),
    outputTokens: table.outputTokens.filter(isKept),
  };
}
