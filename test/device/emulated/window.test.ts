// Places lie apart, behind the lead, and within what WebAssembly can address.

import { expect, it } from "vitest";
import {
  LEAD_BYTES,
  PAGE_BYTES,
  WindowLayout,
  wholePages,
} from "../../../src/device/emulated/window.ts";

it("lays places out one behind the other", () => {
  const layout = new WindowLayout([PAGE_BYTES, 3 * PAGE_BYTES, 2 * PAGE_BYTES]);
  const pages = layout.bases.map((base) => (base - LEAD_BYTES) / PAGE_BYTES);
  expect(pages).toEqual([0, 1, 4]);
  expect(layout.endBytes).toBe(LEAD_BYTES + 6 * PAGE_BYTES);
});

it("takes whole pages only", () => {
  expect(() => new WindowLayout([PAGE_BYTES + 1])).toThrow(/65537 B is not whole pages/);
  expect(() => new WindowLayout([0])).toThrow(/0 B is not whole pages/);
  expect(wholePages(1)).toBe(PAGE_BYTES);
});

it("says in a line when devices and hosts are more than fit", () => {
  const most = 2 ** 32 - LEAD_BYTES;
  expect(new WindowLayout([most / 2, most / 2]).endBytes).toBe(2 ** 32);
  const text = "devices and hosts have 4290838528 B together, at most 4290772992 B";
  expect(() => new WindowLayout([most, PAGE_BYTES])).toThrow(text);
});
