/**
 * The first hundred servers of the sweep: nobody is harmed, and all that may harm occurs.
 *
 * `npm run sweep` runs the rest. Coverage is asserted beside the bounds: servers on which nobody
 * lends, borrows or is recalled would prove nothing.
 */

import { beforeAll, describe, expect, it } from "vitest";
import { runSweep } from "../../tools/harm/run-sweep.ts";
import type { ServerVerdict } from "../../tools/harm/server-verdict.ts";
import { coverageOf, rowsOf, sweepText } from "../../tools/harm/sweep-table.ts";

const COUNT = 100;
const PROCESSES = 2;
let verdicts: ServerVerdict[] = [];

beforeAll(async () => {
  const seeds = Array.from({ length: COUNT }, (_, index) => index + 1);
  verdicts = await runSweep({ seeds, processes: PROCESSES });
}, 900_000);

describe("a hundred random servers", () => {
  it("run, and their requests and bytes add up", () => {
    expect(verdicts).toHaveLength(COUNT);
    const errors = verdicts.flatMap(({ seed, errors: all }) =>
      all.map((error) => `server ${seed}: ${error}`),
    );
    expect(errors).toEqual([]);
  });

  it("harm nobody", () => {
    const broken = rowsOf(verdicts).filter(({ judgement }) => judgement.isViolation);
    const lines = broken.map(({ seed, engine, judgement: { bound, ratio, interval } }) => {
      const range = `${interval!.low.toFixed(3)} to ${interval!.high.toFixed(3)}`;
      return `server ${seed}, ${engine.name} (${engine.role}): ${bound} ${ratio} (${range})`;
    });
    expect(lines).toEqual([]);
  });

  it("lend, borrow and recall over every kind of link", () => {
    const coverage = coverageOf(verdicts);
    expect(coverage["borrowers"]).toBeGreaterThan(80);
    expect(coverage["lenders"]).toBeGreaterThan(80);
    expect(coverage["servers with recalls"]).toBeGreaterThan(20);
    expect(coverage["demand recalls"]).toBeGreaterThan(100);
    for (const wiring of ["switch", "mesh", "pcie", "list"]) {
      expect(coverage[wiring], wiring).toBeGreaterThan(10);
    }
    expect(coverage["within the bounds' shares"]).toBeLessThan(COUNT);
  });

  it("are summed up in a table of the ten that came nearest to harm", () => {
    const text = sweepText(verdicts);
    expect(text).toMatch(/^servers 100, /);
    expect(text.match(/^\d+ {2,}\w+ /gm)!.length).toBeGreaterThanOrEqual(10);
  });
});
