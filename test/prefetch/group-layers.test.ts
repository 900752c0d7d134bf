/** The rule for layers a group: what serves most, within its limits. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chooseGroupLayers, ringBytes } from "../../src/prefetch/index.ts";

describe("layers a group", () => {
  it("are one where nothing is gained by more, or next to nothing", () => {
    expect(chooseGroupLayers(64, 1e6, () => 1)).toBe(1);
    expect(chooseGroupLayers(64, 1e6, (layers) => 1 + layers * 1e-4)).toBe(1);
  });

  it("are one, unasked, where a layer of a slice is long enough and where layers are few", () => {
    const never = (): number => {
      throw new Error("asked");
    };
    expect(chooseGroupLayers(64, 6e6, never)).toBe(1);
    expect(chooseGroupLayers(7, 1, never)).toBe(1);
  });

  it("are those that serve the most, up to 6 MB and a quarter of the layers", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 128 }),
        fc.integer({ min: 1, max: 8_000_000 }),
        fc.array(fc.integer({ min: 1, max: 1000 }), { minLength: 33, maxLength: 33 }),
        (layers, runBytes, served) => {
          const chosen = chooseGroupLayers(layers, runBytes, (count) => served[count]!);
          let best = 1;
          for (let count = 2; count <= layers / 4 && (count - 1) * runBytes < 6e6; count++) {
            if (served[count]! > served[best]! * 1.001) best = count;
          }
          expect(chosen).toBe(best);
        },
      ),
    );
  });

  it("cost two groups of staged bytes", () => {
    expect(ringBytes(2, 1000)).toBe(4000);
  });
});
