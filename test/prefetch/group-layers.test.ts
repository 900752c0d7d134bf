/** The rule for layers a group, on the shapes it was made for and on its limits. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chooseGroupLayers, ringBytes } from "../../src/prefetch/index.ts";

const a100 = { portBytesPerSecond: 276e9, copyCostNs: 2300, latencyNs: 7500 };
const h100 = { ...a100, portBytesPerSecond: 376e9 };

describe("layers a group", () => {
  it("is one where a run is long enough: OPT-13B, five blocks of 16 tokens a slice", () => {
    expect(chooseGroupLayers(40, 5 * 16 * 20480, 200e6, 16e9, a100)).toBe(1);
  });

  it("is two where a run is 1 MB: Qwen3-32B, sixteen blocks of 16 tokens a slice", () => {
    expect(chooseGroupLayers(64, 16 * 16 * 4096, 70e6, 9e9, h100)).toBe(2);
  });

  it("stays small where the ring would take what longer copies gain", () => {
    const runBytes = 16 * 4096;
    const roomy = chooseGroupLayers(64, runBytes, 10e6, 100e9, h100);
    const tight = chooseGroupLayers(64, runBytes, 10e6, 0.4e9, h100);
    expect(roomy).toBeGreaterThan(tight);
  });

  it("never exceeds what 1.5 MB need nor a quarter of the layers, and is the least loss", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 128 }),
        fc.integer({ min: 1, max: 5_000_000 }),
        fc.integer({ min: 0, max: 500_000_000 }),
        fc.integer({ min: 1, max: 200 }),
        (layers, runBytes, stagedBytes, memoryGB) => {
          const memoryBytes = memoryGB * 1e9;
          const chosen = chooseGroupLayers(layers, runBytes, stagedBytes, memoryBytes, h100);
          expect(chosen).toBeGreaterThanOrEqual(1);
          expect(chosen === 1 || chosen <= layers / 4).toBe(true);
          expect(chosen === 1 || (chosen - 1) * runBytes < 1.5e6).toBe(true);
          const loss = (count: number): number =>
            2300 / (2300 + (count * runBytes) / 376) + ringBytes(count, stagedBytes) / memoryBytes;
          for (let other = 1; other <= layers / 4 && (other - 1) * runBytes < 1.5e6; other++) {
            expect(loss(chosen)).toBeLessThanOrEqual(loss(other) * (1 + 1e-12));
          }
        },
      ),
    );
  });

  it("costs two groups of staged bytes", () => {
    expect(ringBytes(2, 1000)).toBe(4000);
  });
});
