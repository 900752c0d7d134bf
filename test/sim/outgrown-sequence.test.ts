/**
 * One sequence larger than its engine's own memory, with nobody else to give way.
 *
 * Whoever needs memory that idle neighbours have must get it in one pass: a prompt that is still
 * being computed keeps what was borrowed for it, and a sequence that outgrows what it holds asks
 * before it is given up. Each was once a request that was computed anew for ever, or failed beside
 * idle memory.
 */

import { expect, it } from "vitest";
import { ADMISSION_SETTINGS, simulate, type RunRecord } from "../../src/sim/index.ts";
import { read } from "../scenario/scenario-fixture.ts";

/** Qwen3-32B on an H100 holds 16,896 tokens of its own. */
function run(
  promptTokens: number,
  outputTokens: number,
  pool: string,
  server = "2xh100",
): RunRecord {
  const request = `{ at: 5, prompt: ${promptTokens}, output: ${outputTokens} }`;
  const workload = `{ arrivals: list, requests: [${request}] }`;
  const scenario = read(`
server: ${server}
pool: ${pool}
engines:
  - { name: docs, gpus: [0], model: Qwen3-32B, workload: ${workload} }
  - { name: idle, gpus: [1], model: Qwen3-32B }
`);
  const system = scenario.systems.find(({ name }) => name === "ema")!;
  return simulate(scenario, system, 1, ADMISSION_SETTINGS[0]!);
}

it.each([
  ["outgrows its engine's memory by its prompt", 20_000, 50, "{}"],
  ["takes nearly all there is", 32_500, 50, "{}"],
  ["outgrows its engine's memory while it decodes", 16_800, 200, "{}"],
  ["is read in place, from small slices", 30_000, 200, "{ accessMode: direct, sliceBytes: 32MiB }"],
])("a lone sequence is served in one pass when it %s", (_, prompt, output, pool) => {
  const [docs] = run(prompt, output, pool).engines;
  expect(docs!.requests.failure).toEqual([null]);
  expect(docs!.requests.lastTokenNs[0]).toBeLessThan(30e9);
  expect(docs!.preemptions).toBe(0);
});

it("a lone sequence fails with its reason once it outgrows all that idle neighbours lend", () => {
  const [docs] = run(32_900, 500, "{}").engines;
  expect(docs!.requests.failure).toEqual(["larger-than-memory"]);
});

it("memory that no link leads to is not waited for", () => {
  const [docs] = run(20_000, 50, "{}", "{ gpus: [h100, h100], links: [] }").engines;
  expect(docs!.requests.failure).toEqual(["larger-than-memory"]);
});
