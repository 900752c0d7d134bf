/** Prompt work per token: a mean that follows, against sums over what it was told. */

import { expect, it } from "vitest";
import { PromptTime } from "../../src/engine/prompt-time.ts";

it("is prompt work over tokens, chunks without a token counted too", () => {
  const time = new PromptTime();
  expect(time.nsPerToken).toBe(0);
  time.observe(5e6, 0);
  expect(time.nsPerToken).toBe(0);
  time.observe(3e6, 8);
  time.observe(0, 8);
  expect(time.nsPerToken).toBe(8e6 / 16);
});

it("follows a change within some thousand tokens and forgets what was before", () => {
  const time = new PromptTime();
  for (let step = 0; step < 1000; step++) time.observe(1e6, 10);
  expect(time.nsPerToken).toBeCloseTo(1e5);
  for (let step = 0; step < 3000; step++) time.observe(0, 10);
  expect(time.nsPerToken).toBeLessThan(100);
});
