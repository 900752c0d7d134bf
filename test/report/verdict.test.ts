/** Verdict sentences and warnings: yes, partly, no with what limits, not certain. */

import { describe, expect, it } from "vitest";
import { compare, type CompareJson } from "../../src/report/index.ts";
import {
  engineRecord,
  requestLog,
  runRecord,
  scenarioOf,
  simulatorOf,
  systemSettings,
  type RequestRow,
} from "./fixtures.ts";
import type { EngineRecord } from "../../src/report/simulation.ts";

const SYSTEMS = [systemSettings("static"), systemSettings("double"), systemSettings("ema")];

interface EngineSpec extends Partial<EngineRecord> {
  /** Output tokens in the window, or by seed. */
  readonly tokens?: number | ((seed: number) => number);
  /** How many of ten requests meet the SLO; the rest come late. */
  readonly good?: number;
}

function rowsOf(good: number): RequestRow[] {
  return Array.from({ length: 10 }, (_, index) =>
    index < good ? [50, 51, 52, 100] : [50, 59, 60, 100],
  );
}

function record(name: string, spec: EngineSpec, seed: number): EngineRecord {
  const { tokens = 9000, good = 0, ...changes } = spec;
  const count = typeof tokens === "number" ? tokens : tokens(seed);
  return engineRecord({
    name,
    requests: requestLog(rowsOf(good)),
    outputTokensInWindow: count,
    outputTokensInTotalWindow: count,
    ...changes,
  });
}

/** Runs chat and code under each system as told; recalls happen under ema. */
function run(
  specs: Record<string, { chat?: EngineSpec; code?: EngineSpec }>,
  seeds: readonly number[] = [1],
): CompareJson {
  const systems = SYSTEMS.filter(({ name }) => name in specs);
  const simulator = simulatorOf((system, seed) =>
    runRecord({
      engines: [
        record("chat", specs[system]!.chat ?? {}, seed),
        record("code", { gpuIndex: 1, ...specs[system]!.code }, seed),
      ],
      recalls: system === "ema" ? [{ kind: "refill", slices: 1, waitNs: 1 }] : [],
    }),
  );
  return compare(scenarioOf(["chat", "code"], systems), { simulator, seeds }).json;
}

const BORROWED = { borrowed: { meanBytes: 4e9, maxBytes: 8e9 } };
const LENT = { lent: { meanBytes: 4e9, maxBytes: 8e9 } };
const PRESSED = { preemptions: 50 };
const refusals = (reason: string, count: number): Partial<EngineRecord> => ({
  refusals: { ...engineRecord().refusals, [reason]: count },
});

describe("yes", () => {
  it("by throughput where goodput is zero, with the share of double", () => {
    const { verdict } = run({
      static: { chat: { tokens: 10_000 } },
      double: { chat: { tokens: 16_000 } },
      ema: { chat: { tokens: 14_400, ...BORROWED, ...refusals("limit", 9) }, code: LENT },
    });
    expect(verdict.winner).toBe("ema");
    expect(verdict.text).toBe(
      "Yes: with ema, chat makes 1.44x the tokens of static, 0.90 of what double its memory " +
        "would give, and no engine loses; more is not to be had because the borrow limit is " +
        "reached.",
    );
  });

  it("with what limits where the gain is little, though double gives no more", () => {
    const textAt = (tokens: number) =>
      run({
        static: { chat: { tokens: 10_000 } },
        double: { chat: { tokens } },
        ema: { chat: { tokens, ...BORROWED, ...refusals("does-not-pay", 9) }, code: LENT },
      }).verdict.text;
    expect(textAt(10_800)).toMatch(
      /^Yes: .*1\.08x.*, 1\.00 of what double .* because the link limits: remote KV would cost/,
    );
    expect(textAt(16_000)).toMatch(/no engine loses\.$/);
  });

  it("by goodput where requests meet the SLO", () => {
    const { verdict } = run({
      static: { chat: { good: 4 } },
      ema: { chat: { good: 8, ...BORROWED }, code: LENT },
    });
    expect(verdict.text).toContain("chat finishes 2.00x the requests within the SLO of static");
  });

  it("with the better of two variants as the winner", () => {
    const systems = [...SYSTEMS, systemSettings("ema", "ema-uncapped")];
    const tokens: Record<string, number> = { static: 100, double: 200, ema: 140 };
    const simulator = simulatorOf((system) =>
      runRecord({ engines: [record("chat", { tokens: tokens[system] ?? 180 }, 1)] }),
    );
    const { json } = compare(scenarioOf(["chat"], systems), { simulator, seeds: [1] });
    expect(json.verdict.winner).toBe("ema-uncapped");
  });
});

describe("partly", () => {
  it("when another engine loses throughput; the total decides who wins", () => {
    const specs = (chat: number) => ({
      static: { chat: { tokens: 10_000 }, code: { tokens: 10_000 } },
      ema: { chat: { tokens: chat, ...BORROWED }, code: { tokens: 9_000, ...LENT } },
    });
    const much = run(specs(15_000)).verdict;
    expect(much.winner).toBe("ema");
    expect(much.text).toMatch(/^Partly: .*1\.50x.*, but code makes 0\.90x the tokens\.$/);
    expect(run(specs(10_500)).verdict.winner).toBe("static");
  });

  it("when a lender's tokens take longer", () => {
    const slow = requestLog([[50, 51, 62, 101]]);
    const fast = requestLog([[50, 51, 61, 101]]);
    const { verdict } = run({
      static: { chat: { tokens: 10_000 }, code: { requests: fast } },
      ema: { chat: { tokens: 15_000, ...BORROWED }, code: { requests: slow, ...LENT } },
    });
    expect(verdict.text).toContain("but code's tokens take 1.10x as long");
  });
});

describe("no, and what limits", () => {
  it.each([
    ["does-not-pay", "the link limits"],
    ["link", "the link limits"],
    ["lender-share", "the lender share limits"],
    ["no-idle-memory", "nothing is idle to be borrowed"],
    ["slo", "the TPOT target limits"],
    ["account", "loans cost more than they earn"],
  ])("most refusals are %s: %s", (reason, text) => {
    const { verdict } = run({
      static: { chat: PRESSED },
      double: { chat: { tokens: 12_000 } },
      ema: { chat: { ...PRESSED, ...refusals(reason, 5) } },
    });
    expect(verdict.winner).toBe("static");
    expect(verdict.text).toMatch(/^No: ema gives no engine more than static: /);
    expect(verdict.text).toContain(text);
  });

  it("compute, when twice the memory does not help engines that are pressed", () => {
    const { verdict } = run({ static: { chat: PRESSED }, double: {}, ema: {} });
    expect(verdict.text).toContain("compute limits, not memory (twice the memory gives 1.00x)");
  });

  it("nothing, when all is served in time anyway", () => {
    const calm = { chat: { good: 10 }, code: { good: 10 } };
    const { verdict } = run({ static: calm, double: calm, ema: calm });
    expect(verdict.text).toBe(
      "No: ema gives no engine more than static: " +
        "memory is not what limits (twice the memory gives 1.00x).",
    );
  });

  it("memory that nobody asks for, when double was not run", () => {
    const calm = { chat: { good: 10 }, code: { good: 10 } };
    expect(run({ static: calm, ema: calm }).verdict.text).toContain("nobody asked for more");
  });

  it("an engine that loses while none gains", () => {
    const { verdict } = run({ static: {}, ema: { chat: { tokens: 8_000 } } });
    expect(verdict.text).toMatch(/^No: with ema, chat makes 0\.89x the tokens of static/);
  });
});

describe("not certain", () => {
  it("when the interval over seeds reaches down to one", () => {
    const specs = {
      static: { chat: { tokens: 10_000 } },
      ema: { chat: { tokens: (seed: number) => (seed === 1 ? 15_000 : 10_500), ...BORROWED } },
    };
    const { verdict } = run(specs, [1, 2]);
    expect(verdict.winner).toBe("static");
    expect(verdict.text).toMatch(/^Not certain: .*1\.27x.*reaches from -?\d.*more seeds/);
  });
});

describe("no verdict", () => {
  it("without static, or without a system that lends", () => {
    expect(run({ ema: {} }).verdict.text).toBe(
      "No verdict: static was not among the systems compared.",
    );
    const { verdict } = run({ static: {}, double: {} });
    expect(verdict.text).toContain("no system that lends");
    expect(verdict.winner).toBe("static");
  });
});

describe("warnings", () => {
  const lender = { ...LENT, runningShare: 0.3 };

  it("are none when borrowing, recalls and running lenders were exercised", () => {
    expect(run({ static: {}, ema: { chat: BORROWED, code: lender } }).warnings).toEqual([]);
  });

  it("say that nothing was borrowed, or that nothing lends at all", () => {
    expect(run({ static: {}, ema: {} }).warnings).toEqual(["ema: no borrowing was exercised"]);
    expect(run({ static: {} }).warnings[0]).toContain("no borrowing was exercised");
  });

  it("say that nothing was recalled", () => {
    const simulator = simulatorOf(() =>
      runRecord({ engines: [engineRecord(BORROWED), engineRecord({ name: "code", ...lender })] }),
    );
    const scenario = scenarioOf(["chat", "code"], [systemSettings("ema")]);
    const { json } = compare(scenario, { simulator, seeds: [1] });
    expect(json.warnings).toEqual(["ema: no recall was exercised"]);
  });

  it("say that lenders hardly ran: 4 % but not 5 %", () => {
    const at = (runningShare: number): string[] =>
      run({ static: {}, ema: { chat: BORROWED, code: { ...LENT, runningShare } } }).warnings;
    expect(at(0.04)).toEqual([expect.stringContaining("lenders ran steps 4.0 % of the time")]);
    expect(at(0.05)).toEqual([]);
  });

  it("say that hardly anything was borrowed: under 10 % of the cap, if there is one", () => {
    const at = (maxBytes: number, borrowLimitBytes: number | null): string[] => {
      const chat = { borrowed: { meanBytes: 1, maxBytes }, borrowLimitBytes };
      return run({ static: {}, ema: { chat, code: lender } }).warnings;
    };
    expect(at(9e8, 1e10)).toEqual([expect.stringContaining("9.0 % of the cap")]);
    expect(at(1e9, 1e10)).toEqual([]);
    expect(at(1, null)).toEqual([]);
  });
});
