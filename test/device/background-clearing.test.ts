// Ranges are cleared in order, as fast as they are told to be, and only then given back.

import fc from "fast-check";
import { expect, it } from "vitest";
import { BackgroundClearing, createPlainDevices } from "../../src/device/index.ts";

const RANGE = 1000;

it("clears all of each range before it says so, and nothing beside it", () => {
  const lengths = fc.array(fc.integer({ min: 1, max: RANGE }), { minLength: 1, maxLength: 6 });
  const chunks = fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(lengths, chunks, (ranges, steps) => {
      const { memory } = createPlainDevices([65_536])[0]!;
      const start = memory.allocate(65_536)!;
      memory.write(start, new Uint8Array(RANGE * 8).fill(9));
      const clearing = new BackgroundClearing(memory);
      ranges.forEach((bytes, id) => clearing.submit(id, start + id * RANGE, bytes));
      const total = ranges.reduce((sum, bytes) => sum + bytes, 0);
      let cleared = 0;
      let nextId = 0;
      for (let step = 0; nextId < ranges.length; step++) {
        const bytesMax = steps[step % steps.length]!;
        const bytes = clearing.advance(bytesMax);
        expect(bytes).toBe(Math.min(bytesMax, total - cleared));
        cleared += bytes;
        expect(clearing.pendingBytes).toBe(total - cleared);
        for (let id = clearing.poll(); id !== -1; id = clearing.poll()) {
          expect(id).toBe(nextId++);
          const found = new Uint8Array(RANGE);
          memory.read(start + id * RANGE, found);
          const bytesOfRange = ranges[id]!;
          expect(found.every((value, at) => value === (at < bytesOfRange ? 0 : 9))).toBe(true);
        }
      }
      expect(cleared).toBe(total);
      expect(clearing.advance(100)).toBe(0);
    }),
  );
});
