/** The names that are offered for one that is unknown. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nearestNames, suggestNames } from "../../src/base/index.ts";

const NAMES = ["4xa100-40g", "4xa100-80g", "8xh100", "8xh200", "Llama-3.1-8B", "OPT-13B"];

describe("nearestNames", () => {
  it.each([
    ["8xh10", "8xh100"],
    ["opt-13b", "OPT-13B"],
    ["llama", "Llama-3.1-8B"],
    ["8xh100-switch", "8xh100"],
  ])("%s is nearest to %s", (name, nearest) => {
    expect(nearestNames(name, NAMES)[0]).toBe(nearest);
  });

  it("offers at most three, known ones, and finds each name itself first", () => {
    fc.assert(
      fc.property(fc.constantFrom(...NAMES), fc.string({ maxLength: 12 }), (name, other) => {
        expect(nearestNames(name, NAMES)[0]).toBe(name);
        const found = nearestNames(other, NAMES);
        expect(found.length).toBeLessThanOrEqual(3);
        expect(found.every((candidate) => NAMES.includes(candidate))).toBe(true);
      }),
    );
  });

  it("says the whole list where nothing is close", () => {
    expect(suggestNames("zzzzzzzz", ["ab", "cd"])).toBe("; known: ab, cd");
    expect(suggestNames("8xh10", ["8xh100", "OPT-13B"])).toBe("; did you mean 8xh100?");
  });
});
