// WASM kernels pass on a machine with SIMD, and what differs by more than rounding does not.

import { expect, it } from "vitest";
import { isClose, isWasmRight } from "../../../src/device/emulated/compute-self-test.ts";

it("passes here", () => {
  expect(isWasmRight()).toBe(true);
});

it("calls rounding close and errors not", () => {
  const expected = Float32Array.of(100, 1, -3);
  expect(isClose(Float32Array.of(100.0005, 1.0005, -3), expected)).toBe(true);
  expect(isClose(Float32Array.of(100, 1.002, -3), expected)).toBe(false);
  expect(isClose(Float32Array.of(100, NaN, -3), expected)).toBe(false);
});
