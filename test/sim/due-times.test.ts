/** Due times against a plain list: whoever is due first, ties by index, whatever is changed. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { DueTimes } from "../../src/sim/due-times.ts";

it("names the first of those that are due soonest", () => {
  const change = fc.tuple(fc.nat(12), fc.oneof(fc.nat(5), fc.constant(Infinity)));
  const lists = fc.tuple(fc.integer({ min: 1, max: 13 }), fc.array(change, { maxLength: 60 }));
  fc.assert(
    fc.property(lists, ([count, changes]) => {
      const due = new DueTimes(count);
      const naive = Array.from({ length: count }, () => Infinity);
      for (const [at, dueNs] of changes) {
        due.set(at % count, dueNs);
        naive[at % count] = dueNs;
        due.check();
        const least = Math.min(...naive);
        expect(due.at(due.first)).toBe(least);
        if (least < Infinity) expect(due.first).toBe(naive.indexOf(least));
      }
    }),
  );
});
