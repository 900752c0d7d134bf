/**
 * A saturated engine whose neighbour idles, over links from very fast to hopeless.
 *
 * The port of a GPU is as fast as ever; what lies between it and one neighbour may not be. Whoever
 * takes the port's speed for the path's borrows itself to a standstill.
 */

import { expect, it } from "vitest";
import type { EngineRecord } from "../../src/sim/index.ts";
import { ADMISSION_SETTINGS, simulate } from "../../src/sim/index.ts";
import { read } from "../scenario/scenario-fixture.ts";

function borrower(server: string, system: string): EngineRecord {
  const scenario = read(`
server: ${server}
engines:
  - name: busy
    gpus: [0]
    model: OPT-13B
    workload: { arrivals: poisson, rate: 5, seconds: 240, lengths: sharegpt }
  - { name: idle, gpus: [1], model: OPT-13B }
`);
  const settings = scenario.systems.find(({ name }) => name === system)!;
  return simulate(scenario, settings, 1, ADMISSION_SETTINGS[0]!).engines[0]!;
}

const link = (bytesPerSecond: number): string =>
  `{ gpus: [a100-40g, a100-40g], links: [{ from: 1, to: 0, bytesPerSecond: ${bytesPerSecond} }] }`;

it.each([
  ["a mesh of eight: a twelfth of the port", "8xa100-40g-mesh"],
  ["a mesh of four: a third of the port", "4xa100-40g-mesh"],
  ["20 GB/s", link(20e9)],
  ["1 GB/s", link(1e9)],
  ["50 MB/s", link(50e6)],
])("over %s the borrower is no slower than without lending", (_, server) => {
  const alone = borrower(server, "static");
  const elastic = borrower(server, "ema");
  expect(elastic.outputTokensInWindow).toBeGreaterThanOrEqual(alone.outputTokensInWindow * 0.99);
});
