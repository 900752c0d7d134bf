/** Room for prompts to come: five times what came lately, within bounds. */

import { expect, it } from "vitest";
import { ArrivalReserve } from "../../src/engine/arrival-reserve.ts";
import { createKvLayout } from "../../src/kvcache/index.ts";

const LAYOUT = createKvLayout(1024, 1, 16, 16 * 1024 * 4);

it("nothing is kept before anybody came", () => {
  const { homeBlocks, loanBlocks } = new ArrivalReserve(LAYOUT, 100);
  expect([homeBlocks, loanBlocks]).toEqual([0, 0]);
});

it("five prompts like the first are kept room for, and then like the later ones", () => {
  const reserve = new ArrivalReserve(LAYOUT, 100);
  reserve.observe(96);
  expect([reserve.homeBlocks, reserve.loanBlocks]).toEqual([30, 30]);
  for (let index = 0; index < 300; index++) reserve.observe(32);
  expect([reserve.homeBlocks, reserve.loanBlocks]).toEqual([11, 11]);
});

it("no more than an eighth of the own memory at home is, and a half of it at others", () => {
  const reserve = new ArrivalReserve(LAYOUT, 100);
  reserve.observe(320);
  expect([reserve.homeBlocks, reserve.loanBlocks]).toEqual([50, 100]);
  for (let index = 0; index < 300; index++) reserve.observe(4000);
  expect([reserve.homeBlocks, reserve.loanBlocks]).toEqual([50, 200]);
});
