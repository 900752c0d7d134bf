/** Tests of what a scenario file says when it is right: values, defaults, traces, shares, files. */

import { describe, expect, it } from "vitest";
import { pathBetween } from "../../src/hardware/index.ts";
import type { EngineSettings } from "../../src/scenario/index.ts";
import { EXAMPLE, failureOf, read, TRACE, write } from "./scenario-fixture.ts";

const trace = write("t.csv", TRACE);
const arrivals = (engine: EngineSettings): number[] =>
  [...engine.requests(1).arrivalNs].map((at) => at / 1e9);
const prompts = (engine: EngineSettings): number[] => [...engine.requests(1).promptTokens];

/** One A100-40 for each workload. */
function engines(...workloads: string[]): EngineSettings[] {
  const list = workloads.map(
    (workload, index) =>
      `  - { name: e${index}, gpus: [${index}], model: OPT-13B, workload: ${workload} }`,
  );
  const text = `server: 4xa100-40g\nengines:\n${list.join("\n")}`;
  return [...read(text, { traces: [trace] }).engines];
}

describe("the example", () => {
  const scenario = read(EXAMPLE, { traces: [trace] });

  it("is resolved as written", () => {
    expect(scenario).toMatchObject({
      name: "s",
      seed: 1,
      slo: { ttftSeconds: 2, tpotSeconds: 0.1 },
      topology: { name: "4xa100-40g", wiring: "switch" },
    });
    expect(scenario.systems.map(({ name, base }) => [name, base])).toEqual([
      ["static", "static"],
      ["double", "double"],
      ["ema", "ema"],
      ["ema-uncapped", "ema"],
    ]);
    expect(scenario.systems[3]!.pool).toEqual({ ...scenario.pool, borrowLimit: { kind: "none" } });
    const [chat, code, replay] = scenario.engines;
    expect(chat).toMatchObject({ name: "chat", gpuIndex: 0, tenant: "a", isGenerated: true });
    const numbered = EXAMPLE.replace("tenant: a", "tenant: 17");
    expect(read(numbered, { traces: [trace] }).engines[0]!.tenant).toBe("17");
    expect(chat).toMatchObject({ meanPromptTokens: 161, meanOutputTokens: 338 });
    expect(code).toMatchObject({ meanPromptTokens: 19, meanOutputTokens: 58, isGenerated: true });
    expect(replay).toMatchObject({ gpuIndex: 2, tenant: "c", isGenerated: false });
    expect(arrivals(code!).every((at) => (at + 200) % 300 < 60)).toBe(true);
    expect(Math.min(...arrivals(code!))).toBeGreaterThan(100);
  });

  it("says what was clipped and which GPU has no engine", () => {
    const [clipped, unused] = scenario.notes;
    expect(clipped).toMatch(/^engine chat: \d+ of \d+ prompts clipped to 1024 tokens \(seed 1\)$/);
    expect(unused).toBe("no engine on GPU 3: its memory takes no part");
  });

  it("draws the same requests for a seed, others for another, and the trace for any", () => {
    const [chat, , replay] = scenario.engines;
    const first = chat!.requests(1);
    expect(chat!.requests(2).arrivalNs).not.toEqual(first.arrivalNs);
    expect(chat!.requests(1)).toEqual(first);
    expect(replay!.requests(2)).toEqual(replay!.requests(1));
  });
});

it("has the published defaults where nothing is said", () => {
  const text = "server: 1xh100\nengines: [{ name: a, gpus: [0], model: Qwen3-32B }]";
  const { seed, slo, pool, systems, engines: list } = read(text);
  expect({ seed, slo }).toEqual({ seed: 1, slo: { ttftSeconds: 2, tpotSeconds: 0.1 } });
  expect(pool).toEqual({
    borrowLimit: { kind: "share", share: 1 },
    headroom: "auto",
    lenderShare: 0.02,
    sliceBytes: 67_108_864,
    interference: "subtractive",
    accessMode: "mixed",
    copyCostSeconds: 2.3e-6,
  });
  expect(systems.map(({ name }) => name)).toEqual(["static", "double", "ema"]);
  expect(list[0]).toMatchObject({
    tenant: "a",
    blockTokens: 16,
    maxBatchTokens: 2048,
    maxSequences: 256,
    isGenerated: false,
    meanPromptTokens: 0,
    meanOutputTokens: 0,
  });
  expect(list[0]!.requests(1).count).toBe(0);
});

describe("pool", () => {
  it.each([
    ["{ borrowLimit: 50% }", { borrowLimit: { kind: "share", share: 0.5 } }],
    ["{ borrowLimit: 8GB }", { borrowLimit: { kind: "bytes", bytes: 8e9 } }],
    ["{ borrowLimit: 8GiB }", { borrowLimit: { kind: "bytes", bytes: 8_589_934_592 } }],
    ["{ borrowLimit: 0 }", { borrowLimit: { kind: "bytes", bytes: 0 } }],
    ["{ headroom: 5% }", { headroom: { kind: "share", share: 0.05 } }],
    ["{ headroom: 1GB }", { headroom: { kind: "bytes", bytes: 1e9 } }],
    ["{ lenderShare: none }", { lenderShare: null }],
    ["{ lenderShare: 0% }", { lenderShare: 0 }],
    ["{ lenderShare: 0 }", { lenderShare: 0 }],
    ["{ sliceBytes: 32MiB }", { sliceBytes: 33_554_432 }],
    ["{ interference: ceiling, accessMode: staged }", { accessMode: "staged" }],
    ["{ copyCost: 3 us }", { copyCostSeconds: 3e-6 }],
  ])("%s", (pool, expected) => {
    const text = "server: 1xh100\nengines: [{ name: a, gpus: [0], model: Qwen3-32B }]";
    expect(read(`${text}\npool: ${pool}`).pool).toMatchObject(expected);
  });

  it("a system's own settings lie over the scenario's, key by key", () => {
    const text = `${EXAMPLE.replace("borrowLimit: 100%", "borrowLimit: 50%, copyCost: 0")}`;
    const unpaced = text.replace("pool: { borrowLimit: none }", "pool: { lenderShare: none }");
    const { systems } = read(unpaced, { traces: [trace] });
    expect(systems[3]!.pool).toMatchObject({
      borrowLimit: { kind: "share", share: 0.5 },
      copyCostSeconds: 0,
      lenderShare: null,
    });
    expect(systems[2]!.pool.lenderShare).toBe(0.02);
  });

  it("linkLatency is that of every path", () => {
    const { topology } = read(`${EXAMPLE.replace("headroom: auto", "linkLatency: 9us")}`, {
      traces: [trace],
    });
    expect(pathBetween(topology, 0, 3)!.latencySeconds).toBeCloseTo(9e-6, 12);
    expect(pathBetween(topology, 2, 2)).toBeNull();
  });
});

describe("traces", () => {
  it("are dealt by shares in the order of the engines; the rest is nobody's", () => {
    const list = engines('{ trace: "@1", share: 1/2 }', '{ trace: "@1", share: 0.25 }');
    expect(list.map(prompts)).toEqual([
      [1, 2, 5, 6, 9, 10],
      [3, 7, 11],
    ]);
  });

  it("are replayed whole by engines without a share, beside those that are dealt", () => {
    const list = engines('{ trace: "@1" }', '{ trace: "@1" }', '{ trace: "@1", share: 1 }');
    expect(list.map((engine) => engine.requests(1).count)).toEqual([12, 12, 12]);
    expect(list[0]).toMatchObject({ meanPromptTokens: 6.5, meanOutputTokens: 7 });
  });

  it("are scaled first, then shifted with wrap-around at their span", () => {
    const [plain, slow, shifted] = engines(
      '{ trace: "@1" }',
      '{ trace: "@1", rateScale: 0.5 }',
      '{ trace: "@1", rateScale: 0.5, offsetSeconds: 4 }',
    );
    expect(arrivals(plain!).slice(0, 4)).toEqual([0, 0.25, 0.5, 1]);
    expect(arrivals(slow!).slice(0, 4)).toEqual([0, 0.5, 1, 2]);
    // The span is 7 s; the last three requests, from 3.5 s on, come in again at the start.
    const wrapped = arrivals(slow!).map((at) => (at + 4) % 7);
    expect(arrivals(shifted!)).toEqual(wrapped.toSorted((one, other) => one - other));
    expect(arrivals(shifted!)[0]).toBe(0);
  });

  it("are looked for beside the scenario, and may be used twice by another way of writing", () => {
    write("deep/u.csv", TRACE);
    const both = '{ trace: ./deep/../deep/u.csv, share: 1/2 }';
    const list = engines("{ trace: deep/u.csv, share: 1/2 }", both);
    const all = list.flatMap(prompts).toSorted((one, other) => one - other);
    expect(all).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
  });

  it("say which rows were skipped and which option is not used", () => {
    const path = write("skip.csv", `${TRACE}\n5,0,1\n6,1,0`);
    const engine = '{ name: a, gpus: [0], model: Qwen3-32B, workload: { trace: "@1" } }';
    expect(read(`server: 1xh100\nengines: [${engine}]`, { traces: [path, trace] }).notes).toEqual([
      "trace skip.csv: 2 rows skipped (line 14: 0 prompt tokens, line 15: 0 output tokens)",
      `--trace ${trace} is not used: no engine has "@2"`,
    ]);
  });

  it("keep requests beyond the model's context", () => {
    const path = write("long.csv", "arrival,prompt_tokens,output_tokens\n0,5000,10");
    const [engine] = engines(`{ trace: ${path} }`);
    expect(prompts(engine!)).toEqual([5000]);
  });
});

describe("workloads", () => {
  it("shift generators by their offset and keep their requests", () => {
    const form = "arrivals: poisson, rate: 2, seconds: 50, lengths: alpaca";
    const tableOf = (offset: number): EngineSettings =>
      engines(`{ ${form}, offsetSeconds: ${offset} }`)[0]!;
    const moved = arrivals(tableOf(0)).map((at) => at + 30);
    arrivals(tableOf(30)).forEach((at, row) => expect(at).toBeCloseTo(moved[row]!, 8));
    expect(prompts(tableOf(30))).toEqual(prompts(tableOf(0)));
  });

  it("of several parts are merged by arrival, each part with streams of its own", () => {
    const poisson = "{ arrivals: poisson, rate: 2, seconds: 50, lengths: alpaca }";
    const requests = "[{ at: 5, prompt: 32000, output: 200 }]";
    const list = `{ arrivals: list, requests: ${requests}, offsetSeconds: 2 }`;
    const [mixed, alone] = engines(`[${poisson}, ${list}, ${poisson}]`, list);
    expect(arrivals(alone!)).toEqual([7]);
    expect(alone).toMatchObject({ isGenerated: false, meanPromptTokens: 32000 });
    const table = mixed!.requests(1);
    const at = table.arrivalNs.indexOf(7e9);
    expect([table.promptTokens[at], table.outputTokens[at]]).toEqual([32000, 200]);
    expect(arrivals(mixed!)).toEqual(arrivals(mixed!).toSorted((one, other) => one - other));
    expect(new Set(table.arrivalNs).size).toBe(table.count);
    expect(mixed).toMatchObject({ isGenerated: true });
    expect(mixed!.meanPromptTokens).toBeCloseTo((200 * 19 + 32000) / 201, 8);
  });

  it("have fixed lengths by `fixed` or a sigma of 0, clipped only where that is said", () => {
    const form = (lengths: string): string =>
      `{ arrivals: backlog, requests: 2, lengths: ${lengths} }`;
    const [fixed, sigma, cut] = engines(
      form("{ prompt: 1900, output: 900, fixed: true }"),
      form("{ prompt: 3, output: 5, sigma: 0 }"),
      form("{ prompt: 1900, output: 900, sigma: 0, maxPrompt: 100 }"),
    );
    expect(prompts(fixed!)).toEqual([1900, 1900]);
    expect([...fixed!.requests(1).outputTokens]).toEqual([900, 900]);
    expect(prompts(sigma!)).toEqual([3, 3]);
    expect(prompts(cut!)).toEqual([100, 100]);
    expect(fixed!.isGenerated).toBe(false);
  });

  it("clip prompts to half the context unless told otherwise", () => {
    const form = (lengths: string): string =>
      `{ arrivals: backlog, requests: 999, lengths: ${lengths} }`;
    const list = engines(
      form("azure-conv"),
      form("{ prompt: 1155, output: 211, maxPrompt: 1500 }"),
      form("{ prompt: 1155, output: 211, sigma: 0.1 }"),
    );
    expect(list.map((engine) => Math.max(...prompts(engine)))).toEqual([1024, 1500, 1024]);
    expect(Math.min(...prompts(list[2]!))).toBeGreaterThan(600);
  });
});

describe("server", () => {
  const parts = "gpus: [h100, h100]\nlinks: [{ from: 1, to: 0, bytesPerSecond: 300GB }]\n";
  const text = (server: string): string =>
    `server: ${server}\nengines: [{ name: a, gpus: [1], model: Qwen3-32B }]`;

  it("is a file beside the scenario", () => {
    write("machines/two.yaml", parts);
    const { topology } = read(text("machines/two.yaml"));
    expect(topology).toMatchObject({ name: "machines/two.yaml", wiring: "custom" });
    expect(pathBetween(topology, 1, 0)).toEqual({ bytesPerSecond: 3e11, latencySeconds: 7.5e-6 });
    write("machines/odd.yaml", parts.replace("300GB", "333333333.25"));
    const odd = read(text("machines/odd.yaml")).topology;
    expect(pathBetween(odd, 1, 0)?.bytesPerSecond).toBe(333333333.25);
    expect(pathBetween(topology, 0, 1)).toBeNull();
  });

  it("is written in place, wired like its GPU's short name where links are not said", () => {
    expect(read(text("{ gpus: [h100, h100], links: mesh }")).topology.wiring).toBe("mesh");
    expect(read(text("{ gpus: [h100, h100] }")).topology.wiring).toBe("switch");
    const l40s = text("{ gpus: [l40s, l40s] }").replace("Qwen3-32B", "Llama-3.1-8B");
    expect(read(l40s).topology.wiring).toBe("pcie");
  });

  it("says what is wrong in its own file and line", () => {
    write("machines/bad.yaml", "gpus: [h100]\nlinsk: mesh\n");
    expect(failureOf(() => read(text("machines/bad.yaml")))).toBe(
      "E_SERVER machines/bad.yaml:2: linsk: unknown key; did you mean links?",
    );
    write("machines/far.yaml", parts.replace("to: 0", "to: 7"));
    expect(failureOf(() => read(text("machines/far.yaml")))).toMatch(
      /^E_SERVER machines\/far\.yaml:1: server "machines\/far\.yaml": links\[0\]: /,
    );
    expect(failureOf(() => read(text("machines/gone.yaml")))).toBe(
      "E_FILE s.yaml:1: server: machines/gone.yaml: no such file",
    );
  });
});

it("finds a model's config.json beside the scenario", () => {
  const config = {
    model_type: "llama",
    architectures: ["LlamaForCausalLM"],
    hidden_size: 4096,
    num_hidden_layers: 32,
    num_attention_heads: 32,
    num_key_value_heads: 8,
    intermediate_size: 14336,
    vocab_size: 128256,
    max_position_embeddings: 8192,
    tie_word_embeddings: false,
  };
  write("models/tiny/config.json", JSON.stringify(config));
  const text = "server: 1xh100\nengines: [{ name: a, gpus: [0], model: models/tiny/config.json }]";
  expect(read(text).engines[0]!.model).toMatchObject({ kvBytesPerToken: 131_072 });
});
