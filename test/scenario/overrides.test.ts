/** Tests of `--set`, `--systems` and of scenarios made of options alone. */

import { describe, expect, it } from "vitest";
import {
  quickScenario,
  systemsByName,
  type QuickOptions,
  type Scenario,
} from "../../src/scenario/index.ts";
import { EXAMPLE, failureOf, read, TRACE, write } from "./scenario-fixture.ts";

const trace = write("t.csv", TRACE);
const withSet = (...set: string[]): Scenario => read(EXAMPLE, { set, traces: [trace] });
const failure = (...set: string[]): string => failureOf(() => withSet(...set));

describe("--set", () => {
  it("addresses engines and systems by name or index", () => {
    const count = (scenario: Scenario): number => scenario.engines[0]!.requests(1).count;
    const slow = count(withSet("engines.chat.workload.rate=3"));
    expect(slow).toBeLessThan(count(withSet()) / 1.5);
    expect(count(withSet("engines.0.workload.rate=3"))).toBe(slow);
    const pool = withSet("systems.ema-uncapped.pool.lenderShare=none").systems[3]!.pool;
    expect(pool).toMatchObject({ borrowLimit: { kind: "none" }, lenderShare: null });
    expect(withSet("systems.ema.pool.borrowLimit=50%").systems[2]).toMatchObject({
      name: "ema",
      base: "ema",
      pool: { borrowLimit: { kind: "share", share: 0.5 } },
    });
  });

  it("takes YAML values, makes maps on the way, and the last one wins", () => {
    expect(withSet("systems=[static, ema]").systems.length).toBe(2);
    expect(withSet("engines.chat.maxSequences=8").engines[0]!.maxSequences).toBe(8);
    expect(withSet("slo.ttftSeconds=5").slo).toEqual({ ttftSeconds: 5, tpotSeconds: 0.1 });
    expect(withSet("seed=2", "seed=3").seed).toBe(3);
    expect(withSet("engines.chat.workload={trace: '@1'}").engines[0]!.requests(1).count).toBe(12);
    const traced = withSet("engines.chat.workload={trace: x}", "engines.chat.workload.trace=@1");
    expect(traced.engines[0]!.requests(1).count).toBe(12);
  });

  it("changes one engine where an anchor writes two", () => {
    const text =
      "server: 2xh100\nengines:\n" +
      "  - name: a\n    gpus: [0]\n    model: Qwen3-32B\n" +
      "    workload: &w { arrivals: backlog, requests: 5, lengths: alpaca }\n" +
      "  - { name: b, gpus: [1], model: Qwen3-32B, workload: *w }\n";
    const { engines } = read(text, { set: ["engines.b.workload.requests=7"] });
    expect(engines.map((engine) => engine.requests(1).count)).toEqual([5, 7]);
  });

  it("finds names with dots", () => {
    const renamed = EXAMPLE.replace("name: chat", "name: qwen2");
    const text = renamed.replace("name: code", "name: qwen2.5");
    const set = ["engines.qwen2.5.tenant=x", "engines.qwen2.tenant=y"];
    const { engines } = read(text, { set, traces: [trace] });
    expect(engines.map(({ tenant }) => tenant)).toEqual(["y", "x", "c"]);
  });

  it.each([
    [
      "engines.chta.workload.rate=3",
      'E_ARGUMENT --set engines.chta.workload.rate=3: engines has no item "chta"; did you mean ' +
        'chat?',
    ],
    [
      "engines.7.tenant=x",
      'E_ARGUMENT --set engines.7.tenant=x: engines has no item "7"; known: chat, code, replay',
    ],
    [
      "engines.chat.workload.raet=3",
      "E_SCENARIO --set engines.chat.workload.raet=3: engines.chat.workload.raet: unknown key; " +
        "did you mean rate?",
    ],
    [
      "engines.chat.worklod.rate=3",
      "E_SCENARIO --set engines.chat.worklod.rate=3: engines.chat.worklod: unknown key; did you " +
        "mean workload?",
    ],
    ["sede=3", "E_SCENARIO --set sede=3: sede: unknown key; did you mean seed?"],
    ["seed=-1", "E_SCENARIO --set seed=-1: seed: expected a whole number"],
    [
      "seed=",
      "E_SCENARIO --set seed=: seed: expected a whole number from 0 to 9007199254739991, got " +
        "nothing",
    ],
    ["seed", "E_ARGUMENT --set seed: expected path=value, like engines.chat.workload.rate=3"],
    ["=3", "E_ARGUMENT --set =3: expected path=value"],
    ["slo..x=3", "E_ARGUMENT --set slo..x=3: expected keys separated by single dots"],
    ["slo.=3", "E_ARGUMENT --set slo.=3: expected keys separated by single dots"],
    ["__proto__.x=3", "E_ARGUMENT --set __proto__.x=3: expected keys"],
    ["seed=[1", 'E_ARGUMENT --set seed=[1: expected a YAML value after "=", got "[1"'],
    ["seed.x=1", "E_ARGUMENT --set seed.x=1: seed is 1; it has no keys of its own"],
    [
      "server.gpus=[h100]",
      'E_ARGUMENT --set server.gpus=[h100]: server is "4xa100-40g"; it has no keys',
    ],
    ["engines.chat.workload.rate=1e400", "E_SCENARIO --set engines.chat.workload.rate=1e400: "],
  ])("%s", (set, message) => {
    expect(failure(set)).toContain(message);
  });
});

describe("a scenario of options", () => {
  const quick = (options: Partial<QuickOptions>): Scenario =>
    quickScenario({ server: "4xh100", model: "Qwen3-32B", traces: [], set: [], ...options });

  it("has one engine a GPU; the n-th trace drives GPU n, the others idle", () => {
    const scenario = quick({ traces: [trace, trace], seed: 9 });
    expect(scenario).toMatchObject({ name: "4xh100 Qwen3-32B", seed: 9, notes: [] });
    expect(scenario.engines.map(({ name, gpuIndex, tenant }) => [name, gpuIndex, tenant])).toEqual([
      ["gpu0", 0, "gpu0"],
      ["gpu1", 1, "gpu1"],
      ["gpu2", 2, "gpu2"],
      ["gpu3", 3, "gpu3"],
    ]);
    const counts = scenario.engines.map((engine) => engine.requests(9).count);
    expect(counts).toEqual([12, 12, 0, 0]);
    expect(scenario.systems.map(({ name }) => name)).toEqual(["static", "double", "ema"]);
  });

  it("takes --set", () => {
    const set = ["engines.gpu0.workload.rateScale=2", "pool.borrowLimit=none"];
    const scenario = quick({ traces: [trace], set });
    expect(scenario.engines[0]!.requests(1).arrivalNs[3]).toBe(0.5e9);
    expect(scenario.pool.borrowLimit).toEqual({ kind: "none" });
  });

  it.each([
    [{ server: "4xh10" }, 'E_SERVER --server: server: unknown server "4xh10"'],
    [{ model: "Qwen3-23B" }, 'E_MODEL --model: engines.gpu0.model: unknown model "Qwen3-23B"'],
    [
      { traces: ["gone.csv"] },
      "E_FILE --trace: engines.gpu0.workload.trace: gone.csv: no such file",
    ],
    [
      { traces: [trace, trace], server: "1xh100" },
      "E_ARGUMENT --trace: 1xh100 has 1 GPUs and 2 traces",
    ],
    [{ seed: 0.5 }, "E_SCENARIO --seed: seed: expected a whole number"],
    [
      { set: ["engines.gpu9.tenant=x"] },
      'E_ARGUMENT --set engines.gpu9.tenant=x: engines has no item "gpu9"',
    ],
  ])("%j", (options, message) => {
    expect(failureOf(() => quick(options))).toContain(message);
  });
});

describe("systemsByName", () => {
  const scenario = read(EXAMPLE.replace("[static, double, ema,", "[ema,"), { traces: [trace] });

  it("takes the scenario's systems and the bases, in the order given, each once", () => {
    const systems = systemsByName(scenario, ["static", "ema-uncapped", " ema", "static"]);
    expect(systems.map(({ name }) => name)).toEqual(["static", "ema-uncapped", "ema"]);
    expect(systems[0]!.pool).toEqual(scenario.pool);
    expect(systems[1]).toBe(scenario.systems[1]);
  });

  it("names the nearest of an unknown one", () => {
    expect(failureOf(() => systemsByName(scenario, ["ema-uncaped"]))).toContain(
      'E_SYSTEM --systems: unknown system "ema-uncaped"; did you mean ema or ema-uncapped?',
    );
  });
});
