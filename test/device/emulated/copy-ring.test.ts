// Commands one way and ends the other, in rings that wrap.

import fc from "fast-check";
import { expect, it } from "vitest";
import {
  CopyReceiver,
  CopySender,
  createCopyRing,
  type CopyCommand,
} from "../../../src/device/emulated/copy-ring.ts";

const END_SLOTS = 4096;

function command(id: number, pieces: number): CopyCommand {
  return {
    id,
    dueNs: id * 1.5e15,
    arrivalCell: id % 7,
    pieces: Array.from({ length: pieces }, (_, index) => ({
      sourceAddress: id * 1000 + index,
      targetAddress: 4e9 - index,
      bytes: index,
    })),
  };
}

it("hands over commands as they were, in order, and no more than it has room for", () => {
  const step = fc.oneof(
    fc.record({ push: fc.integer({ min: 0, max: 4096 }) }),
    fc.record({ take: fc.integer({ min: 1, max: 9 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const memory = createCopyRing();
      const [sender, receiver] = [new CopySender(memory), new CopyReceiver(memory)];
      const waiting: CopyCommand[] = [];
      let lastId = 0;
      for (const each of steps) {
        if ("push" in each) {
          const next = command(++lastId, each.push);
          const words = waiting.reduce((sum, one) => sum + 4 + 3 * one.pieces.length, 0);
          expect(sender.push(next)).toBe(words + 4 + 3 * each.push <= 65_536);
          if (words + 4 + 3 * each.push <= 65_536) waiting.push(next);
        } else {
          for (let count = 0; count < each.take; count++) {
            expect(receiver.take()).toEqual(waiting.shift() ?? null);
          }
        }
      }
    }),
    { numRuns: 60 },
  );
});

it("takes no more copies than it can say have ended", () => {
  const memory = createCopyRing();
  const [sender, receiver] = [new CopySender(memory), new CopyReceiver(memory)];
  for (let id = 0; id < END_SLOTS; id++) {
    expect(sender.push(command(id, 0))).toBe(true);
    receiver.take();
    receiver.end(id);
  }
  expect(sender.push(command(9999, 0))).toBe(false);
  for (let id = 0; id < END_SLOTS; id++) expect(sender.takeEnded()).toBe(id);
  expect(sender.takeEnded()).toBe(-1);
  expect(sender.push(command(9999, 0))).toBe(true);
});

it("does not sleep through a command that came after it had looked", () => {
  const memory = createCopyRing();
  const [sender, receiver] = [new CopySender(memory), new CopyReceiver(memory)];
  const { wakeCount } = receiver;
  expect(receiver.take()).toBeNull();
  sender.push(command(1, 1));
  expect(receiver.wakeCount).not.toBe(wakeCount);
  receiver.sleep(wakeCount, Infinity);
  expect(receiver.take()).toEqual(command(1, 1));
});
