/** The staging ring against a list of what each slot should be. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StagingRing } from "../../src/prefetch/index.ts";

type State = "free" | "filling" | "ready" | "reading";
interface Slot {
  state: State;
  group: number;
  bytes: number;
}
interface Model {
  slots: Slot[];
  nextGroup: number;
  wastedBytes: number;
  counts: { hit: number; late: number; miss: number };
}
type Act = "reserve" | "arrived" | "begin" | "release" | "drop" | "want" | "wantUnknown";

/** One act on one slot; `check` asks whether the life of a slot allows it. */
class RingCommand implements fc.Command<Model, StagingRing> {
  readonly act: Act;
  readonly slot: number;
  readonly bytes: number;
  constructor(act: Act, slot: number, bytes: number) {
    this.act = act;
    this.slot = slot;
    this.bytes = bytes;
  }
  check(model: Readonly<Model>): boolean {
    const state = model.slots[this.slot]!.state;
    if (this.act === "arrived") return state === "filling";
    if (this.act === "begin") return state === "ready";
    if (this.act === "release") return state === "reading";
    if (this.act === "drop") return state === "filling" || state === "ready";
    if (this.act === "want") return state !== "free";
    return true;
  }
  run(model: Model, real: StagingRing): void {
    const slot = model.slots[this.slot]!;
    switch (this.act) {
      case "reserve":
        this.reserve(model, real);
        break;
      case "arrived":
        real.arrived(this.slot);
        slot.state = "ready";
        break;
      case "begin":
        real.begin(this.slot);
        slot.state = "reading";
        break;
      case "release":
        real.release(this.slot);
        slot.state = "free";
        break;
      case "drop":
        real.drop(this.slot);
        slot.state = "free";
        model.wastedBytes += slot.bytes;
        break;
      case "want": {
        const outcome = slot.state === "filling" ? "late" : "hit";
        expect(real.want(slot.group)).toBe(outcome);
        model.counts[outcome]++;
        break;
      }
      case "wantUnknown":
        expect(real.want(model.nextGroup)).toBe("miss");
        model.counts.miss++;
        break;
    }
    real.check();
    expect({ hit: real.hits, late: real.lates, miss: real.misses }).toEqual(model.counts);
    expect(real.wastedBytes).toBe(model.wastedBytes);
    model.slots.forEach(({ state, group }, index) => {
      if (state !== "free") expect(real.slotOf(group)).toBe(index);
      else if (group > 0) expect(real.slotOf(group)).toBeNull();
    });
  }
  reserve(model: Model, real: StagingRing): void {
    const group = model.nextGroup;
    const slot = real.reserve(group, this.bytes);
    const isFull = model.slots.every(({ state }) => state !== "free");
    expect(slot === null).toBe(isFull);
    if (slot === null) return;
    expect(model.slots[slot]!.state).toBe("free");
    model.slots[slot] = { state: "filling", group, bytes: this.bytes };
    model.nextGroup++;
  }
  toString(): string {
    return `${this.act}(${this.slot})`;
  }
}

describe("the staging ring", () => {
  it("gives a slot its life, and counts where bytes were when wanted", () => {
    const acts: Act[] = ["reserve", "arrived", "begin", "release", "drop", "want", "wantUnknown"];
    const anyCommand = fc
      .tuple(fc.constantFrom(...acts), fc.nat({ max: 2 }), fc.nat({ max: 100 }))
      .map(([act, slot, bytes]) => new RingCommand(act, slot, bytes));
    fc.assert(
      fc.property(fc.commands([anyCommand], { maxCommands: 80 }), (commands) => {
        const empty = (): Slot => ({ state: "free", group: 0, bytes: 0 });
        const setup = (): { model: Model; real: StagingRing } => ({
          model: {
            slots: [empty(), empty(), empty()],
            nextGroup: 1,
            wastedBytes: 0,
            counts: { hit: 0, late: 0, miss: 0 },
          },
          real: new StagingRing(3, 100),
        });
        fc.modelRun(setup, commands);
      }),
      { numRuns: 300 },
    );
  });

  it("lets nothing be read before it has arrived, nor refilled while it is read", () => {
    const ring = new StagingRing(2, 100);
    const slot = ring.reserve(1, 50)!;
    expect(() => ring.begin(slot)).toThrow("staging ring");
    ring.arrived(slot);
    ring.begin(slot);
    expect(() => ring.drop(slot)).toThrow("staging ring");
    expect(() => ring.arrived(slot)).toThrow("staging ring");
    expect(ring.reserve(2, 50)).not.toBe(slot);
    expect(ring.reserve(3, 50)).toBeNull();
    ring.release(slot);
    expect(ring.reserve(3, 50)).toBe(slot);
  });

  it("refuses a group twice and a group too large", () => {
    const ring = new StagingRing(2, 100);
    ring.reserve(1, 50);
    expect(() => ring.reserve(1, 50)).toThrow("has a slot already");
    expect(() => ring.reserve(2, 101)).toThrow("101 of 100 bytes");
    expect(() => new StagingRing(1, 100)).toThrow("less than two slots");
  });
});
