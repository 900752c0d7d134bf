// An emulated run in virtual time schedules what the simulated one does, and its tokens are those
// that each prompt has alone: whole systems under faults, with every check of the simulator.

import { describe, expect, it } from "vitest";
import { Prng } from "../../src/base/index.ts";
import type { GenerationRequest } from "../../src/serving/index.ts";
import { FAMILIES, randomRun, type Family } from "../sim/random-scenario.ts";
import { runSimulation } from "../sim/simulation.ts";
import { Emulation } from "./emulation.ts";
import { SoloDecoder } from "./solo-decoder.ts";
import { tinyConfig, tinyWeights } from "./tiny-model.ts";

function request(engine: number, index: number, prompt: number, output: number): GenerationRequest {
  const prng = new Prng(index, engine + 1);
  const { vocab } = tinyConfig(1);
  return {
    promptIds: Int32Array.from({ length: prompt }, () => prng.nextBelow(vocab)),
    outputTokensMax: output,
    sampling: { temperature: index % 2, topP: index % 4 === 1 ? 0.9 : 1, seed: index },
    stopIds: [],
    topLogprobs: 0,
  };
}

/** Small enough for a plain decoder, and each with moves, interrupts or a lost lender. */
const RUNS: readonly (readonly [Family, number])[] = [
  ["squeeze", 4],
  ["faults", 2],
];

describe("an emulated run in virtual time", () => {
  it("is of every family that simulations know", () => {
    for (const [family] of RUNS) expect(FAMILIES).toContain(family);
  });

  it.each(RUNS)("of %s %i has the simulated events and each prompt's own tokens", async (...of) => {
    const [family, seed] = of;
    const run = randomRun(family, seed);
    const { scenario } = run;
    const emulation = await Emulation.create(scenario, scenario.systems[0]!, seed, request);
    const emulated = runSimulation(run, emulation.seams);
    expect(emulated.digest).toBe(runSimulation(run).digest);
    for (const [engine, { requests, made }] of emulation.engines.entries()) {
      const { layers } = scenario.engines[engine]!.model;
      const weights = tinyWeights(seed + layers);
      const solo = await SoloDecoder.create(tinyConfig(layers), weights, 2048);
      requests.forEach((each, index) => {
        const tokens = made[index]!;
        if (tokens.length === 0) return;
        expect(tokens).toStrictEqual(solo.tokensOf({ ...each, outputTokensMax: tokens.length }));
      });
      await solo.close();
    }
    await emulation.close();
  });
});
