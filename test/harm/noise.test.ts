// `static` against itself: the same work but for one token, all judged as borrowers.

import { expect, it } from "vitest";
import type { Scenario } from "../../src/scenario/index.ts";
import type { RequestTable } from "../../src/workload/index.ts";
import { noiseVerdictOf, withOneTokenMore } from "../../tools/harm/noise.ts";
import { scenarioOf } from "../../tools/harm/server-plan.ts";
import { planOf } from "../../tools/harm/server-verdict.ts";

const SERVER = 5;

/** A server of one engine whose requests have so many tokens, in a context of ten. */
function withContextOfTen(promptTokens: number[], outputTokens: number[]): Scenario {
  const requests = (): RequestTable => ({
    count: promptTokens.length,
    arrivalNs: new Float64Array(promptTokens.length),
    promptTokens: Int32Array.from(promptTokens),
    outputTokens: Int32Array.from(outputTokens),
  });
  return { engines: [{ model: { contextTokensMax: 10 }, requests }] } as unknown as Scenario;
}

it("gives each engine's first request one output token more, and nothing else", () => {
  const scenario = scenarioOf(planOf(SERVER));
  const nudged = withOneTokenMore(scenario);
  let more = 0;
  scenario.engines.forEach((engine, index) => {
    const before = engine.requests(scenario.seed);
    const after = nudged.engines[index]!.requests(scenario.seed);
    if (before.count > 0) more++;
    const first = before.outputTokens[0] ?? 0;
    expect(after).toEqual({
      ...before,
      outputTokens: before.outputTokens.map((tokens, row) => (row === 0 ? first + 1 : tokens)),
    });
  });
  expect(more).toBeGreaterThan(1);
});

it("gives one less where one more is beyond the context: the request would fail", () => {
  const outputsOf = (scenario: Scenario): number[] =>
    Array.from(withOneTokenMore(scenario).engines[0]!.requests(1).outputTokens);
  expect(outputsOf(withContextOfTen([6, 6], [3, 4]))).toEqual([4, 4]);
  expect(outputsOf(withContextOfTen([6, 6], [4, 4]))).toEqual([3, 4]);
});

it("says of a server that cannot be run why not, and goes on", () => {
  const { engines, errors } = noiseVerdictOf(SERVER, () => {
    throw new Error("no such server");
  });
  expect(engines).toEqual([]);
  expect(errors).toEqual([expect.stringContaining("no such server")]);
});

it("judges all by the bounds of borrowers, and is not without differences", () => {
  const { engines, errors, isBound } = noiseVerdictOf(SERVER);
  expect([errors, isBound]).toEqual([[], true]);
  const judged = engines.filter(({ judgements }) => judgements.length > 0);
  expect(judged.length).toBeGreaterThan(1);
  for (const { role, judgements } of judged) {
    expect(role).toBe("borrower");
    expect(judgements.map(({ bound }) => bound)).toEqual([
      expect.stringMatching(/goodput|throughput/),
      "ttft p95",
      "tpot p95",
    ]);
  }
  const ratios = judged.flatMap(({ judgements }) => judgements.map(({ ratio }) => ratio));
  expect(ratios.some((ratio) => ratio !== 1)).toBe(true);
});
