/** Room for prompts to come: five times what came lately, within bounds. */

import { expect, it } from "vitest";
import { ArrivalReserve } from "../../src/engine/arrival-reserve.ts";
import { createKvLayout } from "../../src/kvcache/index.ts";

const LAYOUT = createKvLayout(1024, 1, 16, 16 * 1024 * 4);

it("nothing is kept before anybody came", () => {
  expect(new ArrivalReserve(LAYOUT, 100).blocks).toBe(0);
});

it("five prompts like the first are kept room for, and then like the later ones", () => {
  const reserve = new ArrivalReserve(LAYOUT, 100);
  reserve.observe(96);
  expect(reserve.blocks).toBe(30);
  for (let index = 0; index < 300; index++) reserve.observe(32);
  expect(reserve.blocks).toBe(11);
});

it("no more than an eighth of the own memory is", () => {
  const reserve = new ArrivalReserve(LAYOUT, 100);
  reserve.observe(4000);
  expect(reserve.blocks).toBe(50);
});
