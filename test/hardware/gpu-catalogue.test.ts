/** GPUs by name, and the figures that published steady states were computed with. */

import { describe, expect, it } from "vitest";
import { nearestNames } from "../../src/base/index.ts";
import { findGpu, GPU_NAMES } from "../../src/hardware/index.ts";
import { expectFault } from "./faults.ts";

describe("GPU catalogue", () => {
  it.each([
    ["a100-40g", 40, 1244, 265, 276],
    ["a100-80g", 80, 1632, 265, 276],
    ["h100", 80, 3000, 786, 376],
    ["h200", 141, 4100, 776, 376],
  ])("%s", (name, hbmGb, bandwidthGb, teraflops, portGb) => {
    const gpu = findGpu(name);
    expect(gpu.hbmBytes).toBe(hbmGb * 1e9);
    expect(gpu.hbmBytesPerSecond).toBe(bandwidthGb * 1e9);
    expect(gpu.flopsPerSecond).toBe(teraflops * 1e12);
    expect(gpu.portBytesPerSecond).toBe(portGb * 1e9);
    expect(gpu.formFactor).toBe("sxm");
  });

  it("never claims more than a data sheet, nor a port wider than HBM", () => {
    expect(GPU_NAMES).toHaveLength(7);
    for (const name of GPU_NAMES) {
      const gpu = findGpu(name);
      expect(gpu.hbmBytesPerSecond).toBeLessThan(gpu.hbmPeakBytesPerSecond);
      expect(gpu.hbmBytesPerSecond).toBeGreaterThan(0.7 * gpu.hbmPeakBytesPerSecond);
      expect(gpu.portBytesPerSecond).toBeLessThan(gpu.hbmBytesPerSecond);
    }
  });

  it("ignores case and refuses the unknown with near names", () => {
    expect(findGpu(" H100 ").name).toBe("h100");
    expectFault(() => findGpu("a100"), "E_GPU", /unknown GPU "a100".*a100-40g or a100-80g/);
    expectFault(() => findGpu("tpu-v5e"), "E_GPU", /known: a100-40g, a100-80g, h100, h200, l40s/);
    expectFault(() => findGpu(""), "E_GPU", /known/);
  });
});

describe("nearest names", () => {
  it("come closest first, at most three, blind to case", () => {
    expect(nearestNames("opt-13", ["OPT-66B", "OPT-13B", "Llama-3-8B"])[0]).toBe("OPT-13B");
    expect(nearestNames("borowLimit", ["headroom", "borrowLimit"])).toEqual(["borrowLimit"]);
    expect(nearestNames("aaaa", ["aaab", "aaac", "aaad", "aaae"])).toHaveLength(3);
    expect(nearestNames("zzzzzz", ["headroom"])).toEqual([]);
    expect(nearestNames("x", [])).toEqual([]);
  });
});
