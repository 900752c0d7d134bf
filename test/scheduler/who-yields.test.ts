// Who gives way for want of memory: the youngest, but not a long prompt for somebody's next block.

import { describe, expect, it } from "vitest";
import { Sequences } from "../../src/scheduler/sequences.ts";
import { whoYields } from "../../src/scheduler/who-yields.ts";
import { Bench, BLOCK_TOKENS } from "./scheduler-model.ts";
import { BLOCKS_PER_SLICE } from "./stub-memory.ts";

/** Sequences from the oldest to the youngest, with so many computed tokens each. */
function asked(computed: readonly number[], from = 0): number {
  const sequences = new Sequences(computed.length);
  computed.forEach((tokens, request) => {
    sequences.computedTokens[sequences.admit(request, tokens, 0, 10)] = tokens;
  });
  return sequences.request[whoYields(sequences, from)]!;
}

describe("who yields", () => {
  it("is the youngest, be it dearer than others", () => {
    expect(asked([10, 500, 2047])).toBe(2);
    expect(asked([3000, 1000])).toBe(1);
  });

  it("is the youngest that costs a quarter, where the youngest is dear", () => {
    expect(asked([10, 512, 513, 2048])).toBe(1);
    expect(asked([10, 600, 900, 2048])).toBe(0);
  });

  it("is the youngest where nobody that may be asked costs less", () => {
    expect(asked([10, 600, 900, 2048], 1)).toBe(3);
    expect(asked([2048])).toBe(0);
  });
});

/** A prompt of a whole step joins sequences whose next blocks find no memory. */
function withLongPrompt(isByAge: boolean): Bench {
  const long = 2048 + BLOCK_TOKENS;
  const slices = Math.ceil(long / (BLOCK_TOKENS * BLOCKS_PER_SLICE)) + 2;
  const admission = isByAge
    ? { name: "present", growthShare: 0, present: "chunk" as const }
    : { name: "none", growthShare: 0 };
  const bench = new Bench(slices, { admission, maxBatchTokens: 256, contextTokensMax: 4096 });
  for (let count = 0; count < 3; count++) bench.submit(4, 80);
  bench.step();
  bench.submit(long, 20);
  while (bench.preemptions === 0) bench.step();
  return bench;
}

describe("a prompt of a whole step, with memory full", () => {
  const states = (bench: Bench): string[] => [...bench.requests.values()].map(({ state }) => state);

  it("is spared while others cost a part of it; all end", () => {
    const bench = withLongPrompt(false);
    expect(states(bench)).toEqual(["running", "running", "waiting", "running"]);
    bench.drain(500);
    expect(states(bench)).toEqual(Array(4).fill("finished"));
  });

  it("gives way by vLLM's rules", () => {
    expect(states(withLongPrompt(true))).toEqual(["running", "running", "running", "waiting"]);
  });
});
