// Every byte of every block has one address, copies cover blocks exactly, and units of the ring lie
// apart.

import fc from "fast-check";
import { expect, it } from "vitest";
import { createKvLayout } from "../../src/kvcache/index.ts";
import { KvGeometry } from "../../src/serving/kv-geometry.ts";
import { RingPlaces } from "../../src/serving/ring-places.ts";
import { RingUnits } from "../../src/serving/ring-units.ts";

const ROWS = 6;

const shapes = fc
  .record({
    layers: fc.integer({ min: 1, max: 9 }),
    groupLayers: fc.integer({ min: 1, max: 4 }),
    blocksPerSlice: fc.integer({ min: 1, max: 5 }),
    spareBytes: fc.integer({ min: 0, max: 7 }),
  })
  .map(({ layers, groupLayers, blocksPerSlice, spareBytes }) => {
    const blockBytes = layers * 8;
    const sliceBytes = blockBytes * blocksPerSlice + Math.min(spareBytes, blockBytes - 1);
    const layout = createKvLayout(blockBytes, layers, 1, sliceBytes);
    const rows = Float64Array.from({ length: ROWS }, (_, row) => 1000 + row * sliceBytes);
    return new KvGeometry(layout, Math.min(groupLayers, layers), rows);
  });

it("layers of blocks lie apart, inside their slices", () => {
  fc.assert(
    fc.property(shapes, (geometry) => {
      const { layers, blocksPerSlice, blockLayerBytes, sliceBytes } = geometry.layout;
      const owner = new Map<number, string>();
      for (let handle = 0; handle < ROWS * blocksPerSlice; handle++) {
        for (let layer = 0; layer < layers; layer++) {
          const row = Math.floor(handle / blocksPerSlice);
          const { blockStrideBytes, layerOffsetBytes } = geometry.layerPlace(layer);
          const base = geometry.rowAddress[row]!;
          const first = base + (handle % blocksPerSlice) * blockStrideBytes + layerOffsetBytes;
          expect(first).toBeGreaterThanOrEqual(base);
          expect(first + blockLayerBytes).toBeLessThanOrEqual(base + sliceBytes);
          for (let byte = first; byte < first + blockLayerBytes; byte++) {
            expect(owner.has(byte)).toBe(false);
            owner.set(byte, `${handle} ${layer}`);
          }
        }
      }
    }),
    { numRuns: 50 },
  );
});

it("a copy of blocks moves their bytes, all of them and no others", () => {
  fc.assert(
    fc.property(shapes, fc.array(fc.nat(29), { minLength: 1, maxLength: 6 }), (geometry, draws) => {
      const { blocksPerSlice, sliceBytes, layers, blockLayerBytes } = geometry.layout;
      const half = (ROWS / 2) * blocksPerSlice;
      const sources = Int32Array.from(new Set(draws.map((draw) => draw % half)));
      const targets = sources.map((handle) => half + ((handle * 7 + 3) % half));
      const isDistinct = new Set(targets).size === targets.length;
      if (!isDistinct) return;
      const memory = new Uint8Array(1000 + ROWS * sliceBytes);
      for (let at = 1000; at < 1000 + (ROWS / 2) * sliceBytes; at++) memory[at] = 1 + (at % 250);
      for (const { sourceAddress, targetAddress, bytes } of geometry.pieces(sources, targets)) {
        memory.copyWithin(targetAddress, sourceAddress, sourceAddress + bytes);
      }
      let moved = 0;
      for (let at = 1000 + (ROWS / 2) * sliceBytes; at < memory.length; at++) {
        if (memory[at] !== 0) moved++;
      }
      expect(moved).toBe(sources.length * layers * blockLayerBytes);
      sources.forEach((handle, index) => {
        for (let group = 0; group < geometry.groupCount; group++) {
          const bytes = geometry.groupBlockBytes(group);
          const from = geometry.blockAddress(handle, group);
          const to = geometry.blockAddress(targets[index]!, group);
          expect(memory.slice(to, to + bytes)).toStrictEqual(memory.slice(from, from + bytes));
        }
      });
    }),
    { numRuns: 100 },
  );
});

it("units of both halves of the ring lie apart, inside its slices", () => {
  fc.assert(
    fc.property(shapes, fc.integer({ min: 0, max: ROWS }), (geometry, rowCount) => {
      const { sliceBytes } = geometry.layout;
      const rows = Array.from(geometry.rowAddress.subarray(0, rowCount)).toReversed();
      const ring = new RingPlaces(geometry, rows);
      const bytes = geometry.groupBlockBytes(0);
      const seen: number[] = [];
      for (let half = 0; half < 2; half++) {
        for (let unit = 0; unit < ring.unitsPerHalf; unit++) {
          const address = ring.address(half, unit);
          const end = address + bytes;
          const isInside = rows.some((row) => address >= row && end <= row + sliceBytes);
          expect(isInside).toBe(true);
          expect(seen.every((other) => Math.abs(other - address) >= bytes)).toBe(true);
          seen.push(address);
        }
      }
    }),
    { numRuns: 100 },
  );
});

it("a slot that is staged again keeps its unit, and no two slots share one", () => {
  const slots = fc.uniqueArray(fc.nat(12), { maxLength: 10 });
  fc.assert(
    fc.property(fc.nat(8), fc.array(slots, { maxLength: 12 }), (unitCount, steps) => {
      const units = new RingUnits();
      units.resize(unitCount);
      let before = new Map<number, number>();
      for (const handles of steps) {
        const missing = units.assign(handles.map((handle) => ({ handle, epoch: 0, place: 1 })));
        const now = new Map(handles.map((handle) => [handle, units.unitOf(handle)]));
        const given = [...now.values()].filter((unit) => unit >= 0);
        expect(new Set(given).size).toBe(given.length);
        expect(missing).toBe(Math.max(0, handles.length - unitCount));
        expect(units.count).toBe(handles.length - missing);
        for (const [handle, unit] of now) {
          expect(unit).toBeLessThan(unitCount);
          const earlier = before.get(handle) ?? -1;
          if (earlier >= 0) expect(unit).toBe(earlier);
          if (unit >= 0) expect(units.blockAt(unit)?.handle).toBe(handle);
        }
        before = now;
      }
    }),
  );
});
