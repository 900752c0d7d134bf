/** Bad scenarios, second part: names, places and traces that do not exist, each in one line. */

import { describe, expect, it } from "vitest";
import { EXAMPLE, failureOf, read, TRACE, write } from "./scenario-fixture.ts";

const trace = write("t.csv", TRACE);
const failure = (text: string): string => failureOf(() => read(text, { traces: [trace] }));
/** The example with one text for another. */
const changed = (from: string, to: string): string => {
  expect(EXAMPLE).toContain(from);
  return failure(EXAMPLE.replace(from, to));
};

describe("names and places", () => {
  it.each([
    ["4xa100-40g", "4xa100-40", 'E_SERVER s.yaml:1: server: unknown server "4xa100-40"'],
    ["4xa100-40g", "[h100]", "E_SCENARIO s.yaml:1: server: expected a short name (4xa100-40g)"],
    [
      "4xa100-40g",
      "{ gpus: [h100, h10] }",
      'E_GPU s.yaml:1: server.gpus.1: unknown GPU "h10"; did you mean h100',
    ],
    [
      "model: OPT-13B",
      "model: OPT-31B",
      'E_MODEL s.yaml:9: engines.chat.model: unknown model "OPT-31B"',
    ],
    ["model: OPT-13B", "model: Mixtral-8x7B", "E_MODEL_UNSUPPORTED s.yaml:9: engines.chat.model: "],
    [
      "model: OPT-13B",
      "model: OPT-66B",
      "E_MODEL_FIT s.yaml:9: engines.chat.model: model OPT-66B does not fit",
    ],
    ["model: OPT-13B", "model: ./gone.json", "E_FILE s.yaml:9: engines.chat.model: ./gone.json: "],
    [
      "gpus: [1]",
      "gpus: [0]",
      'E_SCENARIO s.yaml:17: engines.code.gpus: GPU 0 already has engine "chat"; two engines on ' +
        'one GPU are not built yet',
    ],
    [
      "gpus: [1]",
      "gpus: [4]",
      "E_SCENARIO s.yaml:17: engines.code.gpus: there is no GPU 4; 4xa100-40g has GPUs 0 to 3",
    ],
    [
      "gpus: [1]",
      "gpus: [1, 3]",
      "E_MODEL_UNSUPPORTED s.yaml:17: engines.code.gpus: tensor parallel is not built yet",
    ],
    [
      "gpus: [1]",
      "gpus: [-1]",
      "E_SCENARIO s.yaml:17: engines.code.gpus.0: expected a GPU's index from 0",
    ],
    ["gpus: [1]", "gpus: 1", "E_SCENARIO s.yaml:17: engines.code.gpus: expected a list, got 1"],
    [
      "name: code",
      "name: chat",
      'E_SCENARIO s.yaml:16: engines.chat.name: two engines are named "chat"',
    ],
    ["name: code", "name: 7", "E_SCENARIO s.yaml:16: engines.1.name: expected a name"],
    [
      "name: code",
      "name: __proto__",
      "E_SCENARIO s.yaml:16: engines.__proto__.name: expected a name",
    ],
    [
      "[static,",
      "[static, static,",
      'E_SCENARIO s.yaml:4: systems.1: two systems are named "static"; expected one',
    ],
    [
      "[static,",
      "[statc,",
      'E_SYSTEM s.yaml:4: systems.0: unknown system "statc"; did you mean static?',
    ],
    [
      "base: ema",
      "base: emma",
      'E_SYSTEM s.yaml:4: systems.ema-uncapped.base: unknown system "emma"',
    ],
    [
      ", base: ema",
      "",
      "E_SCENARIO s.yaml:4: systems.ema-uncapped: expected a base, one of static, double, ema",
    ],
    [
      '"@1"',
      '"@2"',
      'E_ARGUMENT s.yaml:32: engines.replay.workload.trace: "@2" is the 2. --trace FILE, and ' +
        'only 1 are given',
    ],
    ['"@1"', "gone.csv", "E_FILE s.yaml:32: engines.replay.workload.trace: gone.csv: no such file"],
  ])("%s -> %s", (from, to, message) => {
    expect(changed(from, to)).toContain(message);
  });

  it("an error of a trace names its own file and line too", () => {
    write("bad.csv", `${TRACE}\n9,3.5,1`);
    expect(changed('"@1"', "bad.csv")).toContain(
      "E_TRACE s.yaml:32: engines.replay.workload.trace: bad.csv:14: prompt_tokens: expected",
    );
  });

  it("shares of a trace that sum to more than 1", () => {
    const line = (name: string, gpu: number, share: string): string =>
      `  - { name: ${name}, gpus: [${gpu}], model: OPT-13B, ` +
      `workload: { trace: "@1", share: ${share} } }`;
    const engines = [line("a", 0, "1/2"), line("b", 1, "0.3"), line("c", 2, "1/4")];
    expect(failure(["server: 4xa100-40g", "engines:", ...engines].join("\n"))).toBe(
      "E_SCENARIO s.yaml:5: engines.c.workload.share: the shares of trace @1 sum to more than 1",
    );
  });
});
