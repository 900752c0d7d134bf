/** How blocks fill slices: whole blocks only, the same bytes whichever way they are counted. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createKvLayout } from "../../src/kvcache/index.ts";

const MIB = 2 ** 20;

describe("createKvLayout", () => {
  it.each([
    // KV bytes a token in bf16, as the model catalogue has them.
    ["Qwen3-4B", 147456, 36, 28],
    ["Llama-3.1-8B", 131072, 32, 32],
    ["OPT-13B", 819200, 40, 5],
    ["Qwen3-32B", 262144, 64, 16],
  ])("%s: 64 MiB hold %i bytes a token, %i layers in %i blocks", (_, bytes, layers, blocks) => {
    const layout = createKvLayout(bytes, layers, 16, 64 * MIB);
    expect(layout.blocksPerSlice).toBe(blocks);
    expect(layout.blockBytes).toBe(bytes * 16);
    expect(layout.blockLayerBytes * layers).toBe(layout.blockBytes);
  });

  it("fills a slice with as many whole blocks as fit, and one more does not", () => {
    const shape = fc.record({
      perLayer: fc.integer({ min: 1, max: 8192 }),
      layers: fc.integer({ min: 1, max: 96 }),
      blockTokens: fc.constantFrom(1, 4, 16, 32),
      slack: fc.double({ min: 1, max: 60, noNaN: true }),
    });
    fc.assert(
      fc.property(shape, ({ perLayer, layers, blockTokens, slack }) => {
        const bytesPerToken = perLayer * layers;
        const sliceBytes = Math.floor(bytesPerToken * blockTokens * slack);
        const layout = createKvLayout(bytesPerToken, layers, blockTokens, sliceBytes);
        const { blocksPerSlice, blockBytes, blockLayerBytes } = layout;
        expect(blocksPerSlice * blockBytes).toBeLessThanOrEqual(sliceBytes);
        expect((blocksPerSlice + 1) * blockBytes).toBeGreaterThan(sliceBytes);
        expect(blockLayerBytes).toBe(perLayer * blockTokens);
        expect(layout).toMatchObject({ blockTokens, layers, sliceBytes });
      }),
    );
  });

  it("a slice smaller than a block, and a block that layers cannot share, are bugs", () => {
    expect(() => createKvLayout(1024, 4, 16, 16383)).toThrow("holds no block of 16384");
    expect(() => createKvLayout(1023, 4, 16, 65536)).not.toThrow();
    expect(() => createKvLayout(1023, 5, 16, 65536)).toThrow("5 layers");
  });
});
