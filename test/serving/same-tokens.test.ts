// The same two hundred prompts give the tokens that each has alone, to the last bit of their log
// probabilities, wherever their KV lies and whatever happens to it; and it did happen.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tableFromColumns } from "../../src/workload/index.ts";
import type { Fault } from "../sim/random-scenario.ts";
import { runSimulation } from "../sim/simulation.ts";
import { Emulation } from "./emulation.ts";
import { promptOf, PROMPTS, promptTable, runOf, type Situation } from "./situations.ts";
import { SoloDecoder, type SoloToken } from "./solo-decoder.ts";
import { tinyConfig, tinyWeights } from "./tiny-model.ts";

const LAYERS = 3;
const SEED = 1;

/** So many recalls, one lender after the other, spread over the time in which prompts decode. */
function recalls(
  count: number,
  lenders: readonly number[],
  moment: Fault["moment"],
  draw: number,
): Fault[] {
  return Array.from({ length: count }, (_, index) => ({
    kind: "recall",
    moment,
    timeNs: 0.5e9 + (2e9 * index) / count,
    engine: lenders[index % lenders.length]!,
    draw,
  }));
}

/** Requests of lenders that begin when their memory is lent. */
const LATE = tableFromColumns(
  Array.from({ length: 10 }, (_, index) => 0.7e9 + index * 0.3e9),
  new Array<number>(10).fill(20),
  new Array<number>(10).fill(40),
);

/** What must have happened, by name of the simulation's counts; `remote` is a share of blocks. */
type Expected = Readonly<Record<string, (count: number) => boolean>>;

const some = (count: number): boolean => count > 0;
const none = (count: number): boolean => count === 0;
const half = (share: number): boolean => share > 0.4 && share < 0.8;
const twoLenders = { isElastic: true, ownSlices: 16, lenderSlices: [24, 24] };

const SITUATIONS: readonly (readonly [string, Situation, Expected])[] = [
  [
    "all local",
    { isElastic: false, ownSlices: 200, lenderSlices: [10] },
    { "remote blocks": none, preemptions: none },
  ],
  [
    "half borrowed and staged",
    { ...twoLenders, ownSlices: 12, pool: { accessMode: "staged" } },
    { "remote share": half, "staged blocks": some, "prefetch hit": some },
  ],
  [
    "half borrowed and read in place",
    { ...twoLenders, ownSlices: 12, pool: { accessMode: "direct" } },
    { "remote share": half, "direct blocks": some, "staged blocks": none },
  ],
  [
    "half borrowed, some staged and some read in place",
    twoLenders,
    { "remote share": half, "direct blocks": some, "staged blocks": some },
  ],
  [
    "recalled in mid-decode and moved home",
    { ...twoLenders, ownSlices: 24, faults: recalls(20, [1, 2], "any", 0.6) },
    { "rung home": some, "move home": some },
  ],
  [
    "recalled in mid-decode and moved to another lender",
    { ...twoLenders, faults: recalls(20, [1, 2], "roomy elsewhere", 0.3) },
    { "rung other-lender": some, interrupts: some },
  ],
  [
    "recalled in mid-decode and moved to the host",
    { ...twoLenders, lenderSlices: [24], faults: recalls(10, [1], "any", 0.6) },
    { "rung host": some, "rung parked": some, "move back": some, parkings: some },
  ],
  [
    "recalled in mid-decode, dropped and computed again",
    { ...twoLenders, lenderSlices: [24], faults: recalls(10, [1], "any", 0.1) },
    { "rung drop-running": some, interrupts: some, "rung twin": some },
  ],
  [
    "preempted and resumed",
    { isElastic: false, ownSlices: 17, lenderSlices: [10] },
    { preemptions: some, "remote blocks": none },
  ],
  [
    "left out of steps and parked",
    { ...twoLenders, lenderSlices: [24], pool: { lenderShare: 0 }, lenderTable: LATE },
    { parkings: some, rotations: some, interrupts: some },
  ],
  [
    "a lender lost",
    { ...twoLenders, faults: [{ ...recalls(1, [1], "any", 0.1)[0]!, kind: "remove" }] },
    { "pool event:LeaseLost": some, interrupts: some, preemptions: some },
  ],
];

let solo: SoloDecoder;
let alone: SoloToken[][];

beforeAll(async () => {
  solo = await SoloDecoder.create(tinyConfig(LAYERS), tinyWeights(SEED + LAYERS), 512);
  const { promptTokens, outputTokens } = promptTable();
  alone = Array.from({ length: PROMPTS }, (_, index) =>
    solo.tokensOf(promptOf(0, index, promptTokens[index]!, outputTokens[index]!)),
  );
});

afterAll(() => solo.close());

describe("two hundred prompts, greedy and sampled, have the tokens that each has alone", () => {
  it.each(SITUATIONS)("%s", async (_, situation, expected) => {
    const run = runOf(situation);
    const { scenario } = run;
    const emulation = await Emulation.create(scenario, scenario.systems[0]!, SEED, promptOf);
    const share = { remote: 0, all: 0 };
    const { counts } = runSimulation(run, {
      ...emulation.seams,
      cluster: ({ members }) => watchShare(members[0]!, share),
    });
    const { runner, made } = emulation.engines[0]!;
    const happened = new Map(counts);
    happened.set("remote share", share.all === 0 ? 0 : share.remote / share.all);
    happened.set("remote blocks", runner.counts.stagedBlocks + runner.counts.directBlocks);
    happened.set("staged blocks", runner.counts.stagedBlocks);
    happened.set("direct blocks", runner.counts.directBlocks);
    for (const [name, isRight] of Object.entries(expected)) {
      const count = happened.get(name) ?? 0;
      expect(isRight(count), `${name}: ${count}`).toBe(true);
    }
    expect(made).toStrictEqual(alone);
    await emulation.close();
  });
});

/** Blocks of the served engine at the ends of its steps, in all and on others' devices. */
function watchShare(
  { engine, recorder }: Parameters<NonNullable<Emulation["seams"]["cluster"]>>[0]["members"][0],
  share: { remote: number; all: number },
): void {
  const note = recorder.note.bind(recorder);
  recorder.note = (kind, value, nowNs) => {
    note(kind, value, nowNs);
    if (kind !== "step") return;
    for (let source = 0; source < engine.kv.sourceCount; source++) {
      const blocks = engine.kv.usedBlocks(source);
      share.all += blocks;
      if (source > 0 && source < engine.arena.hostSource) share.remote += blocks;
    }
  };
}
