/** compare(): the best admission setting, seeds, ratios, and the JSON held to its schema. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { EmaError } from "../../src/base/index.ts";
import { compareSchema } from "../../src/report/compare-schema.ts";
import { compare, type CompareProgress } from "../../src/report/index.ts";
import {
  ADMISSIONS,
  engineRecord,
  plausibleSimulator,
  requestLog,
  runRecord,
  scenarioOf,
  SECOND,
  simulatorOf,
  systemSettings,
} from "./fixtures.ts";

const SYSTEMS = [systemSettings("static"), systemSettings("double"), systemSettings("ema")];
const SCENARIO = scenarioOf(["chat", "code"], SYSTEMS);

/** Paths of all numbers of a tree that are not finite. */
function brokenNumbers(value: unknown, path = ""): string[] {
  if (typeof value === "number") return Number.isFinite(value) ? [] : [path];
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, child]) => brokenNumbers(child, `${path}.${key}`));
}

describe("compare", () => {
  it("runs every system with every admission setting for every seed, in a fixed order", () => {
    const runs: string[] = [];
    const simulator = simulatorOf((system, seed, admission) => {
      runs.push(`${system}/${admission.name}/${seed}`);
      return runRecord();
    });
    const one = scenarioOf(["chat"], [systemSettings("static"), systemSettings("ema")]);
    compare(one, { simulator, seeds: [5, 6] });
    expect(runs).toEqual(
      ["static", "ema"].flatMap((system) =>
        ADMISSIONS.flatMap(({ name }) => [5, 6].map((seed) => `${system}/${name}/${seed}`)),
      ),
    );
  });

  it("keeps for each system the setting with the most throughput by the mean over seeds", () => {
    // ema: present need 10 + 10, half the growth 30 + 0; static the other way round, 20 + 20.
    const tokens = (system: string, seed: number, growthShare: number): number => {
      if (growthShare > 0) return seed === 1 ? 3000 : 0;
      return system === "static" ? 2000 : 1000;
    };
    const simulator = simulatorOf((system, seed, { growthShare }) =>
      runRecord({
        engines: [engineRecord({ outputTokensInTotalWindow: tokens(system, seed, growthShare) })],
      }),
    );
    const one = scenarioOf(["chat"], [systemSettings("static"), systemSettings("ema")]);
    const { json } = compare(one, { simulator, seeds: [1, 2] });
    expect(json.systems["static"]!.admission).toBe("present need");
    expect(json.systems["ema"]!.admission).toBe("half the growth");
  });

  it("gives the earlier setting a tie", () => {
    const one = scenarioOf(["chat"], [systemSettings("static")]);
    const { json } = compare(one, { simulator: simulatorOf(() => runRecord()), seeds: [1] });
    expect(json.systems["static"]!.admission).toBe("present need");
  });

  it("takes statistics seed by seed, then their mean; counts add up", () => {
    const simulator = simulatorOf((_system, seed) => {
      const rows = requestLog(
        seed === 1
          ? [[0, 1, 1, 1]]
          : [
              [0, 3, 3, 1],
              [0, 5, 5, 1],
              [0, "timeout"],
            ],
      );
      return runRecord({ engines: [engineRecord({ requests: rows })] });
    });
    const one = scenarioOf(["chat"], [systemSettings("static")]);
    const { json } = compare(one, { simulator, seeds: [1, 2] });
    const { requests, ttftSeconds } = json.systems["static"]!.engines["chat"]!;
    expect(ttftSeconds.mean).toBe(2.5); // (1 + 4) / 2; pooled it would be 3
    expect(requests).toMatchObject({ arrived: 2, finished: 1.5, failed: 0.5 });
    expect(requests.failures.timeout).toBe(0.5);
  });

  it("tells its progress, from nothing to all", () => {
    const states: CompareProgress[] = [];
    const onProgress = (state: CompareProgress): void => void states.push(state);
    compare(SCENARIO, { simulator: plausibleSimulator(), seeds: [1], onProgress });
    const shares = states.map(({ doneShare }) => doneShare);
    expect(shares[0]).toBe(0);
    expect(shares.at(-1)).toBe(1);
    expect(shares).toEqual([...shares].sort((left, right) => left - right));
  });

  it("lets a system that cannot run end it", () => {
    const simulator = simulatorOf(() => {
      throw new EmaError("E_SYSTEM", "ema: no");
    });
    expect(() => compare(SCENARIO, { simulator, seeds: [1] })).toThrow("ema: no");
  });

  it("gives the same bytes twice", () => {
    const text = (): string =>
      JSON.stringify(compare(SCENARIO, { simulator: plausibleSimulator(), seeds: [1, 2] }).json);
    expect(text()).toBe(text());
  });
});

describe("the JSON", () => {
  const { json } = compare(SCENARIO, { simulator: plausibleSimulator(), seeds: [1, 2, 3] });

  it("holds to its schema and has only finite numbers", () => {
    expect(compareSchema.parse(JSON.parse(JSON.stringify(json)))).toEqual(json);
    expect(brokenNumbers(json)).toEqual([]);
  });

  it("compares every system with static, which is 1 to itself", () => {
    expect(Object.keys(json.versus)).toEqual(["static", "double", "ema"]);
    expect(json.versus["static"]!.engines["chat"]!.throughput).toBe(1);
    const { throughput } = json.versus["ema"]!.engines["chat"]!;
    const [low, high] = json.intervals.versus["ema"]!.engines["chat"]!.throughput!;
    expect(throughput).toBeGreaterThan(low);
    expect(throughput).toBeLessThan(high);
  });

  it("says which capacities were used", () => {
    expect(json.capacities["ema"]!["chat"]).toEqual({
      gpu: "a100-40g",
      model: "OPT-13B",
      kvBytes: 8.06e9,
      kvTokens: 9840,
      borrowLimitBytes: 8.06e9,
    });
  });

  it("has no ratios without static", () => {
    const one = scenarioOf(["chat", "code"], [systemSettings("ema")]);
    const result = compare(one, { simulator: plausibleSimulator(), seeds: [1] });
    expect(result.json.versus).toEqual({});
    expect(result.json.verdict.winner).toBeNull();
    expect(compareSchema.safeParse(result.json).success).toBe(true);
  });

  it("is valid and finite whatever the requests did", () => {
    const time = fc.integer({ min: 0, max: 120 });
    const row = fc
      .tuple(time, time, time, fc.integer({ min: 1, max: 5 }), fc.boolean())
      .map(([arrival, wait, rest, tokens, isFailed]) => {
        if (isFailed) return [arrival, "timeout"] as const;
        const first = arrival + wait;
        return [arrival, first, tokens === 1 ? first : first + rest, tokens] as const;
      });
    const times = fc.constantFrom(0, SECOND, 7 * SECOND);
    const lists = fc.array(row, { maxLength: 6 });
    const engine = fc.record({ rows: lists, stepNs: times, stallNs: times });
    fc.assert(
      fc.property(fc.tuple(engine, engine), fc.boolean(), (specs, isShort) => {
        const window = isShort ? { startNs: 0, endNs: 0 } : runRecord().totalWindow;
        const engines = specs.map(({ rows, stepNs, stallNs }, index) =>
          engineRecord({
            name: SCENARIO.engines[index]!.name,
            requests: requestLog(rows),
            stepNs,
            stepLocalNs: stepNs,
            stallNs,
            window,
          }),
        );
        const run = runRecord({ engines, totalWindow: window, endNs: isShort ? 0 : SECOND });
        const seeds = isShort ? [1] : [1, 2];
        const result = compare(SCENARIO, { simulator: simulatorOf(() => run), seeds });
        expect(compareSchema.safeParse(result.json).success).toBe(true);
        expect(brokenNumbers(result.json)).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });
});

describe("the schema", () => {
  it("in docs is the one that outputs are held to", async () => {
    const schema = z.toJSONSchema(compareSchema, { target: "draft-2020-12" });
    const text = `${JSON.stringify(schema, null, 2)}\n`;
    await expect(text).toMatchFileSnapshot("../../docs/schema/compare.schema.json");
  });

  it("refuses what does not belong: an unknown key, NaN", () => {
    const { json } = compare(SCENARIO, { simulator: plausibleSimulator(), seeds: [1] });
    expect(compareSchema.safeParse({ ...json, extra: 1 }).success).toBe(false);
    const broken = structuredClone(json);
    broken.systems["ema"]!.total.stallSeconds = NaN;
    expect(compareSchema.safeParse(broken).success).toBe(false);
  });
});
