// What memory of any backend must do. A backend's test gives a way to build devices.

import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { AssertionFailure } from "../../../src/base/index.ts";
import type { DeviceMemory } from "../../../src/device/index.ts";

export interface MemoryFixture {
  /** One holder a device; each has attached all others. */
  readonly memories: readonly DeviceMemory[];
  close(): Promise<void> | void;
}

/** @param build devices with at least these capacities */
export function describeDeviceMemory(
  name: string,
  build: (capacityBytes: readonly number[]) => Promise<MemoryFixture> | MemoryFixture,
): void {
  describe(`device memory: ${name}`, () => {
    let fixture: MemoryFixture | null = null;
    afterEach(async () => {
      await fixture?.close();
      fixture = null;
    });
    const devices = async (count: number): Promise<readonly DeviceMemory[]> => {
      fixture = await build(new Array<number>(count).fill(2 ** 20));
      return fixture.memories;
    };

    it("gives cleared memory inside the device, in whole pages", async () => {
      const [memory] = await devices(1);
      const { pageBytes, capacityBytes, baseAddress } = memory!;
      const address = memory!.allocate(pageBytes + 1)!;
      expect(address).toBeGreaterThanOrEqual(baseAddress);
      expect(address + 2 * pageBytes).toBeLessThanOrEqual(baseAddress + capacityBytes);
      expect(memory!.freeBytes).toBe(capacityBytes - 2 * pageBytes);
      expect(bytesAt(memory!, address, pageBytes + 1)).toEqual(new Uint8Array(pageBytes + 1));
    });

    it("misses beyond its capacity and changes nothing", async () => {
      const [memory] = await devices(1);
      const { capacityBytes, pageBytes } = memory!;
      expect(memory!.allocate(capacityBytes + 1)).toBeNull();
      expect(memory!.freeBytes).toBe(capacityBytes);
      expect(memory!.allocate(capacityBytes)).not.toBeNull();
      expect(memory!.allocate(1)).toBeNull();
      expect(memory!.freeBytes).toBe(0);
      memory!.free(memory!.baseAddress);
      expect(memory!.allocate(pageBytes)).not.toBeNull();
    });

    it("clears what it gives out again", async () => {
      const [memory] = await devices(1);
      const address = memory!.allocate(memory!.capacityBytes)!;
      memory!.write(address + 70_000, Uint8Array.of(1, 2, 3));
      memory!.free(address);
      const again = memory!.allocate(memory!.capacityBytes)!;
      expect(bytesAt(memory!, again + 70_000, 3)).toEqual(Uint8Array.of(0, 0, 0));
    });

    it("reads what was written, and clears the range it is told and no more", async () => {
      const [memory] = await devices(1);
      const address = memory!.allocate(64)!;
      memory!.write(address, Uint8Array.from({ length: 16 }, (_, index) => index + 1));
      memory!.clear(address + 3, 4);
      const expected = [1, 2, 3, 0, 0, 0, 0, 8, 9, 10, 11, 12, 13, 14, 15, 16, 0];
      expect([...bytesAt(memory!, address, 17)]).toEqual(expected);
    });

    it("shows a peer's bytes at one address, as they change", async () => {
      const [first, second, third] = await devices(3);
      const address = second!.allocate(8)!;
      for (const value of [7, 9]) {
        second!.write(address, Uint8Array.of(value));
        for (const reader of [first!, third!]) {
          expect(bytesAt(reader, address, 1)).toEqual(Uint8Array.of(value));
        }
      }
      expect(bytesAt(first!, first!.baseAddress, 1)).toEqual(Uint8Array.of(0));
    });

    it("refuses to write, clear or free what is not its own", async () => {
      const [first, second] = await devices(2);
      const address = second!.allocate(8)!;
      expect(() => first!.write(address, Uint8Array.of(1))).toThrow(AssertionFailure);
      expect(() => first!.clear(address, 1)).toThrow(AssertionFailure);
      expect(() => first!.free(address)).toThrow(AssertionFailure);
      const end = first!.baseAddress + first!.capacityBytes;
      expect(() => first!.write(end - 1, Uint8Array.of(1, 2))).toThrow(AssertionFailure);
    });

    it("never gives the same byte to two allocations", async () => {
      const [memory] = await devices(1);
      const { capacityBytes, pageBytes } = memory!;
      fc.assert(
        fc.property(fc.array(commandArbitrary(capacityBytes), { maxLength: 40 }), (commands) => {
          const given = new Map<number, number>();
          for (const command of commands) apply(memory!, given, command);
          for (const address of given.keys()) memory!.free(address);
          expect(memory!.freeBytes).toBe(capacityBytes);
        }),
        { numRuns: 100 },
      );
      expect(memory!.allocate(capacityBytes - pageBytes)).not.toBeNull();
    });

    it("is void after close, which may be called twice", async () => {
      const [memory] = await devices(1);
      await fixture!.close();
      expect(() => memory!.allocate(1)).toThrow(AssertionFailure);
      expect(() => bytesAt(memory!, memory!.baseAddress, 1)).toThrow(AssertionFailure);
      memory!.close();
    });
  });
}

type Command = { readonly allocateBytes: number } | { readonly freeIndex: number };

function commandArbitrary(capacityBytes: number): fc.Arbitrary<Command> {
  return fc.oneof(
    fc.record({ allocateBytes: fc.integer({ min: 1, max: Math.floor(capacityBytes / 3) }) }),
    fc.record({ freeIndex: fc.nat(20) }),
  );
}

/** @param given bytes by address: the naive model */
function apply(memory: DeviceMemory, given: Map<number, number>, command: Command): void {
  const { pageBytes, capacityBytes } = memory;
  if ("freeIndex" in command) {
    const address = [...given.keys()][command.freeIndex];
    if (address === undefined) return;
    memory.free(address);
    given.delete(address);
  } else {
    const bytes = Math.ceil(command.allocateBytes / pageBytes) * pageBytes;
    const address = memory.allocate(command.allocateBytes);
    if (address === null) return;
    for (const [other, otherBytes] of given) {
      expect(address + bytes <= other || other + otherBytes <= address).toBe(true);
    }
    given.set(address, bytes);
  }
  const used = [...given.values()].reduce((sum, bytes) => sum + bytes, 0);
  expect(memory.freeBytes).toBe(capacityBytes - used);
}

function bytesAt(memory: DeviceMemory, address: number, bytes: number): Uint8Array {
  const target = new Uint8Array(bytes);
  memory.read(address, target);
  return target;
}
