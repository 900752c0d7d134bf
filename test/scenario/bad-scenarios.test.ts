/** Tests of a scenario with something wrong in it: one line with file, line, key, expectation. */

import { describe, expect, it } from "vitest";
import { EXAMPLE, failureOf, read, TRACE, write } from "./scenario-fixture.ts";

const trace = write("t.csv", TRACE);
const failure = (text: string): string => failureOf(() => read(text, { traces: [trace] }));
/** The example with one text for another. */
const changed = (from: string, to: string): string => {
  expect(EXAMPLE).toContain(from);
  return failure(EXAMPLE.replace(from, to));
};

describe("unknown keys, with the nearest", () => {
  it.each([
    ["seed: 1", "sede: 1", "s.yaml:2: sede: unknown key; did you mean seed?"],
    [
      "tpotSeconds",
      "tpotSecond",
      "s.yaml:3: slo.tpotSecond: unknown key; did you mean tpotSeconds",
    ],
    ["headroom", "headrom", "s.yaml:5: pool.headrom: unknown key; did you mean headroom?"],
    [
      "tenant: b",
      "tennant: b",
      "s.yaml:19: engines.code.tennant: unknown key; did you mean tenant?",
    ],
    [
      "      rate: 6",
      "      raet: 6",
      "s.yaml:13: engines.chat.workload.raet: unknown key; did you mean rate?",
    ],
    [
      "onSeconds",
      "onSecs",
      "s.yaml:23: engines.code.workload.onSecs: unknown key; did you mean onSeconds",
    ],
    [
      "output: 338",
      "outputs: 338",
      "s.yaml:15: engines.chat.workload.lengths.outputs: unknown key; did you mean output?",
    ],
    [
      "{ name: ema-uncapped, base: ema, pool: { borrowLimit",
      "{ name: ema-uncapped, base: ema, pool: { borowLimit",
      "s.yaml:4: systems.ema-uncapped.pool.borowLimit: unknown key; did you mean borrowLimit?",
    ],
    ["seed: 1", "__proto__: { seed: 1 }", "s.yaml:2: __proto__: unknown key"],
  ])("%s", (from, to, message) => {
    expect(changed(from, to)).toContain(`E_SCENARIO ${message}`);
  });
});

describe("values", () => {
  const RATE = "engines.chat.workload.rate: expected requests a second, above 0, at most 1e6, got";
  const LIMIT = "a percentage of the engine's own KV memory (100%), bytes (8GB) or none";

  it.each([
    ["rate: 6", "rate: -6", `s.yaml:13: ${RATE} -6`],
    ["rate: 6", "rate: 0", `s.yaml:13: ${RATE} 0`],
    ["rate: 6", "rate: .nan", `s.yaml:13: ${RATE} NaN`],
    ["rate: 6", "rate: .inf", `s.yaml:13: ${RATE} Infinity`],
    ["rate: 6", "rate: 1e400", `s.yaml:13: ${RATE} Infinity`],
    ["rate: 6", 'rate: "6"', `s.yaml:13: ${RATE} "6"`],
    ["rate: 6", "rate:", `s.yaml:13: ${RATE} nothing`],
    ["rate: 6", "rate: [6]", `s.yaml:13: ${RATE} a list`],
    ["      rate: 6\n", "", `s.yaml:11: ${RATE} nothing`],
    [
      "seconds: 300",
      "seconds: 1e9",
      "s.yaml:14: engines.chat.workload.seconds: expected seconds above 0, at most 1e6, got " +
        "1000000000",
    ],
    [
      "rate: 6",
      "rate: 1e5",
      "s.yaml:11: engines.chat.workload: expected at most 2000000 requests, got 30000000",
    ],
    [
      "seed: 1",
      "seed: 9007199254740991",
      "s.yaml:2: seed: expected a whole number from 0 to 9007199254739991, got 9007199254740991",
    ],
    [
      "seed: 1",
      "seed: 1.5",
      "s.yaml:2: seed: expected a whole number from 0 to 9007199254739991, got 1.5",
    ],
    [
      "prompt: 161",
      "prompt: 0",
      "s.yaml:15: engines.chat.workload.lengths.prompt: expected tokens above 0, got 0",
    ],
    [
      "{ prompt: 161, output: 338 }",
      "{ prompt: 16.1, output: 8, fixed: true }",
      "s.yaml:15: engines.chat.workload.lengths: expected whole tokens for fixed lengths, got " +
        "16.1 and 8",
    ],
    [
      "prompt: 161",
      "maxPrompt: 4096, prompt: 161",
      "s.yaml:15: engines.chat.workload.lengths.maxPrompt: expected a length below the model's " +
        "context of 2048 tokens, got 4096",
    ],
    [
      "{ prompt: 161, output: 338 }",
      "sharegtp",
      's.yaml:15: engines.chat.workload.lengths: unknown lengths "sharegtp"; did you mean ' +
        'sharegpt?',
    ],
    [
      "{ prompt: 161, output: 338 }",
      "7",
      "s.yaml:15: engines.chat.workload.lengths: expected one of sharegpt, alpaca, azure-conv, " +
        "azure-code or {prompt, output}",
    ],
    [
      "arrivals: poisson",
      "arrivals: poison",
      's.yaml:12: engines.chat.workload.arrivals: unknown arrivals "poison"; did you mean poisson?',
    ],
    [
      "arrivals: poisson\n",
      "\n",
      "s.yaml:11: engines.chat.workload: expected a map with trace: FILE or arrivals: poisson | " +
        "on-off | backlog | list",
    ],
    [
      "borrowLimit: 100%",
      "borrowLimit: -5%",
      `s.yaml:5: pool.borrowLimit: expected ${LIMIT}, got "-5%"`,
    ],
    [
      "headroom: auto",
      "headroom: some",
      `s.yaml:5: pool.headroom: expected auto, ${LIMIT}, got "some"`,
    ],
    [
      "lenderShare: 2%",
      "lenderShare: 101%",
      's.yaml:5: pool.lenderShare: expected a percentage of the lender\'s HBM bandwidth (2%) or ' +
        'none, got "101%"',
    ],
    [
      "lenderShare: 2%",
      "lenderShare: 0.02",
      "s.yaml:5: pool.lenderShare: expected a percentage of the lender's HBM bandwidth (2%) or " +
        "none, got 0.02",
    ],
    [
      "sliceBytes: 64MiB",
      "sliceBytes: 64 megs",
      's.yaml:5: pool.sliceBytes: expected a size above 0 like 64MiB, got "64 megs"',
    ],
    [
      "sliceBytes: 64MiB",
      "interference: subtractve",
      's.yaml:5: pool.interference: expected one of subtractive, ceiling, got "subtractve"',
    ],
    [
      "sliceBytes: 64MiB",
      "sliceBytes: 1MiB",
      "s.yaml:7: engines.chat: sliceBytes is 1.05 MB; expected at least a block of 16 tokens of " +
        "OPT-13B: 13107200 bytes",
    ],
    [
      "sliceBytes: 64MiB",
      "sliceBytes: 9GB",
      "s.yaml:7: engines.chat: sliceBytes is 9.00 GB; expected at most the KV memory of OPT-13B " +
        "on a100-40g: 8.29 GB",
    ],
    [
      "share: 1/8",
      "share: 9/8",
      's.yaml:32: engines.replay.workload.share: expected a share above 0, at most 1, like 1/8 ' +
        'or 0.125, got "9/8"',
    ],
    [
      "share: 1/8",
      "share: 1/0",
      's.yaml:32: engines.replay.workload.share: expected a share above 0',
    ],
    [
      "rateScale: 0.5",
      "rateScale: 0",
      "s.yaml:32: engines.replay.workload.rateScale: expected a factor above 0, at most 1e6, got 0",
    ],
    ["engines:", "engines: []\nengine:", "s.yaml:7: engine: unknown key; did you mean engines"],
  ])("%s", (from, to, message) => {
    expect(changed(from, to)).toContain(`E_SCENARIO ${message}`);
  });

  it("engines and systems may not be empty lists", () => {
    expect(failure("server: 1xh100\nengines: []")).toBe(
      "E_SCENARIO s.yaml:2: engines: expected a list with items, got an empty list",
    );
    const noSystems = changed("[static, double, ema,", "[] # ");
    expect(noSystems).toContain("systems: expected a list with items");
    expect(failure("server: 1xh100")).toContain("engines: expected a list, got nothing");
  });

  it("what may take several forms says which when it is missing", () => {
    expect(failure("engines: [{}]")).toBe(
      "E_SCENARIO s.yaml:1: server: expected a short name (4xa100-40g), the path of a server.yaml" +
        " or {gpus, links}",
    );
    expect(changed("lengths: alpaca", "")).toContain("workload.lengths: expected one of sharegpt,");
  });
});
