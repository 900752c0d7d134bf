/** capacities(): a fake server with a known limit per system, its verdict, its table, its JSON. */

import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Prng } from "../../src/base/index.ts";
import { capacities, type ScaledEngine } from "../../src/report/capacity.ts";
import { capacitySchema, type CapacityJson } from "../../src/report/capacity-schema.ts";
import { capacityText } from "../../src/report/capacity-text.ts";
import { createPaint } from "../../src/report/paint.ts";
import type { AdmissionSetting, Simulator } from "../../src/report/simulation.ts";
import type { Scenario, SystemSettings } from "../../src/scenario/index.ts";
import {
  ADMISSIONS,
  engineRecord,
  requestLog,
  runRecord,
  scenarioOf,
  systemSettings,
  type RequestRow,
} from "./fixtures.ts";

type Limits = Readonly<Record<string, number>>;
const LIMITS: Limits = { static: 2, double: 4, ema: 2.8 };
const SYSTEMS = (["static", "double", "ema"] as const).map((base) => systemSettings(base));
/** What the fake reads back: the rate that a scenario was made with. */
const rates = new WeakMap<Scenario, number>();

function engineOf(systems: readonly SystemSettings[], changes: Partial<ScaledEngine> = {}) {
  const scaled: ScaledEngine = {
    name: "chat",
    key: "engines.chat.workload.rate",
    startSetting: 6,
    requestsPerSecondOfUnit: 1,
    scenarioAt: (rate) => {
      const scenario = scenarioOf(["chat", "code"], systems);
      rates.set(scenario, rate);
      return scenario;
    },
    ...changes,
  };
  return scaled;
}

interface Fake {
  readonly limits?: Limits;
  /** Relative noise of the limit, another for every run. */
  readonly noise?: number;
  readonly misses?: "ttft" | "tpot";
  /** Which setting works at all; `null`: all do. */
  readonly onlySetting?: string;
  readonly othersGood?: (system: string) => number;
  readonly requests?: number;
  readonly calls?: { system: string; rate: number; setting: string; seed: number }[];
}

/** Within the limit all is well; beyond it every fiftieth request waits long or crawls. */
function simulatorOf(fake: Fake = {}): Simulator {
  const { limits = LIMITS, noise = 0, misses = "ttft", requests = 1000 } = fake;
  const prng = new Prng(7);
  return {
    admissionSettings: ADMISSIONS,
    simulate: (scenario, system, seed, admission: AdmissionSetting) => {
      const rate = rates.get(scenario)!;
      fake.calls?.push({ system: system.name, rate, setting: admission.name, seed });
      const limit = limits[system.name]! * (1 + noise * (2 * prng.nextUnit() - 1));
      const works = fake.onlySetting === undefined || fake.onlySetting === admission.name;
      const isOver = rate > limit || !works;
      const rows = Array.from({ length: requests }, (_, index): RequestRow => {
        const isSlow = isOver && index % 50 === 0;
        const first = index / 10 + (isSlow && misses === "ttft" ? 2.5 : 0.5);
        return [index / 10, first, first + 10 * (isSlow && misses === "tpot" ? 0.2 : 0.05), 11];
      });
      const good = fake.othersGood?.(system.name) ?? 10;
      const others = Array.from({ length: good }, (_, index): RequestRow => {
        return [20 + index, 20.5 + index, 21 + index, 11];
      });
      return runRecord({
        system: system.name,
        seed,
        engines: [
          engineRecord({ requests: requestLog(rows), outputTokensInWindow: 90 * 11 * rate }),
          engineRecord({ name: "code", gpuIndex: 1, requests: requestLog(others) }),
        ],
      });
    },
  };
}

function run(fake: Fake = {}, seeds = [1], systems = SYSTEMS, engine = engineOf(systems)) {
  const scenario = scenarioOf(["chat", "code"], systems);
  return capacities(scenario, engine, { simulator: simulatorOf(fake), seeds });
}

function isNear(json: CapacityJson, system: string, limit: number): void {
  const own = json.capacity[system]!;
  expect(own.requestsPerSecond).toBeLessThanOrEqual(limit);
  expect(own.requestsPerSecond).toBeGreaterThanOrEqual(limit / 1.02);
  expect(own.beyond!.requestsPerSecond).toBeGreaterThan(limit);
}

describe("capacity", () => {
  it("is each system's limit to within 2 %, over static's", () => {
    const json = run();
    for (const [system, limit] of Object.entries(LIMITS)) isNear(json, system, limit);
    expect(json.capacity["static"]!.versusStatic).toBe(1);
    expect(Math.abs(json.capacity["ema"]!.versusStatic! / 1.4 - 1)).toBeLessThan(0.02);
    expect(json.capacity["ema"]!.outputTokensPerSecond).toBeCloseTo(
      11 * json.capacity["ema"]!.requestsPerSecond!,
    );
  });

  it("is where TPOT is missed, too, and says which was", () => {
    const json = run({ misses: "tpot" });
    isNear(json, "ema", 2.8);
    const { beyond } = json.capacity["ema"]!;
    expect(beyond!.tpotP99Seconds).toBeGreaterThan(0.1);
    expect(beyond!.ttftP99Seconds).toBeLessThan(2);
    expect(capacityText(json, createPaint(false))).toMatch(/^ema .*TPOT/m);
  });

  it("asks every setting before it gives a rate up, and the one that worked first", () => {
    const calls: NonNullable<Fake["calls"]> = [];
    const json = run({ calls, onlySetting: ADMISSIONS[1]!.name });
    isNear(json, "static", 2);
    expect(json.capacity["static"]!.admission).toBe(ADMISSIONS[1]!.name);
    const own = calls.filter(({ system }) => system === "static");
    const met = own.filter(({ rate }) => rate <= 2);
    expect(own.filter(({ rate }) => rate > 2).length % 2).toBe(0);
    expect(met.filter(({ setting }) => setting === ADMISSIONS[0]!.name)).toHaveLength(1);
    expect(json.capacity["static"]!.runs).toBe(own.length);
  });

  it("starts where the system before it ended", () => {
    const calls: NonNullable<Fake["calls"]> = [];
    const json = run({ calls });
    const first = calls.find(({ system }) => system === "double")!;
    expect(first.rate).toBe(json.capacity["static"]!.setting);
  });

  it("with noise is a rate that was met, beside one that was not", () => {
    const json = run({ noise: 0.1 }, [1, 2, 3]);
    for (const [system, limit] of Object.entries(LIMITS)) {
      const own = json.capacity[system]!;
      expect(own.ttftP99Seconds).toBeLessThanOrEqual(2);
      expect(own.beyond!.ttftP99Seconds).toBeGreaterThan(2);
      expect(own.beyond!.requestsPerSecond / own.requestsPerSecond!).toBeLessThanOrEqual(1.02);
      expect(Math.abs(own.requestsPerSecond! / limit - 1)).toBeLessThan(0.13);
    }
  });

  it("of a trace is in requests a second, its setting in scales", () => {
    const engine = engineOf(SYSTEMS, { requestsPerSecondOfUnit: 5.5, startSetting: 1 });
    const own = run({}, [1], SYSTEMS, engine).capacity["static"]!;
    expect(own.setting).toBeLessThanOrEqual(2);
    expect(own.requestsPerSecond).toBeCloseTo(5.5 * own.setting!);
  });

  it("does not count a rate at which requests time out", () => {
    const lossy: Simulator = {
      ...simulatorOf(),
      simulate: (...args) => {
        const record = simulatorOf().simulate(...args);
        const [chat, code] = record.engines;
        const failure = [...chat!.requests.failure];
        if (rates.get(args[0])! > 1) failure[3] = "timeout";
        const lossyChat = { ...chat!, requests: { ...chat!.requests, failure } };
        return { ...record, engines: [lossyChat, code!] };
      },
    };
    const scenario = scenarioOf(["chat", "code"], SYSTEMS);
    const json = capacities(scenario, engineOf(SYSTEMS), { simulator: lossy, seeds: [1] });
    isNear(json, "ema", 1);
  });
});

describe("the verdict", () => {
  it("says how many times the requests are served", () => {
    const { verdict } = run();
    expect(verdict.winner).toBe("ema");
    expect(verdict.text).toMatch(/^Yes: with ema, chat serves 1\.\d\d times the requests within/);
    expect(verdict.text).toMatch(/p99 TTFT 2 s, p99 TPOT 0\.1 s/);
    expect(verdict.text).toMatch(/0\.\d\d of what double its memory would give\.$/);
  });

  it("is no where the limits are the same", () => {
    const { verdict } = run({ limits: { ...LIMITS, ema: 2 } });
    expect(verdict).toMatchObject({ winner: "static", text: expect.stringMatching(/^No: /) });
  });

  it("is partly where others pay", () => {
    const { verdict } = run({ othersGood: (system) => (system === "ema" ? 8 : 10) });
    expect(verdict.text).toMatch(/^Partly: .*, but the other engines finish 0\.80 times theirs\.$/);
  });

  it("is none without static, and without a system that lends", () => {
    const [fixed, double, ema] = SYSTEMS;
    expect(run({}, [1], [ema!]).verdict).toMatchObject({ winner: null });
    expect(run({}, [1], [fixed!, double!]).verdict).toMatchObject({ winner: "static" });
  });

  it("warns of a limit that was not reached, of none at all and of few requests", () => {
    const json = run({ limits: { static: 0.001, double: 1e9, ema: 5000 }, requests: 150 });
    expect(json.capacity["static"]).toMatchObject({ requestsPerSecond: null, isBracketed: false });
    expect(json.capacity["double"]).toMatchObject({ isBracketed: false, beyond: null });
    expect(json.warnings.join("\n")).toMatch(/static meets the SLO at none of 11 rates/);
    expect(json.warnings.join("\n")).toMatch(/double meets the SLO at all of 11 rates/);
    expect(json.warnings.join("\n")).toMatch(/p99 of ema rests on 150 requests/);
    expect(json.verdict.text).toMatch(/with static none\.$/);
    expect(capacitySchema.safeParse(json).error).toBeUndefined();
    expect(capacityText(json, createPaint(false))).toMatch(/^double +>= /m);
  });
});

describe("the JSON", () => {
  it("holds to its schema", () => {
    expect(capacitySchema.safeParse(run()).error).toBeUndefined();
  });

  it("has its schema in docs", async () => {
    const schema = z.toJSONSchema(capacitySchema, { target: "draft-2020-12" });
    const text = `${JSON.stringify(schema, null, 2)}\n`;
    await expect(text).toMatchFileSnapshot("../../docs/schema/capacity.schema.json");
  });
});
