// The committed kernels are what their source compiles to.

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { buildKernels } from "../../../tools/build-kernels.ts";

it("kernels-wasm.ts is what `npx tsx tools/build-kernels.ts` writes", async () => {
  const url = new URL("../../../src/device/emulated/kernels-wasm.ts", import.meta.url);
  expect(readFileSync(url, "utf8")).toBe(await buildKernels());
});
