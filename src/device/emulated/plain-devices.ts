/**
 * Emulated devices at their simplest: one buffer of this process, plain kernels, no threads.
 *
 * For tests that want bytes and math and nothing else. What runs servers is emulated-server.ts.
 */

import type { Compute, DeviceMemory } from "../ports.ts";
import { EmulatedMemory } from "./emulated-memory.ts";
import { PlainCompute } from "./plain-compute.ts";
import { SharedWindow } from "./shared-window.ts";
import { createWasmMemory } from "./wasm-api.ts";
import { WindowLayout, wholePages } from "./window.ts";

export interface PlainDevice {
  readonly memory: DeviceMemory;
  readonly compute: Compute;
}

/** @param capacityBytes of each place, rounded up to whole pages; all see each other's bytes */
export function createPlainDevices(capacityBytes: readonly number[]): PlainDevice[] {
  const layout = new WindowLayout(capacityBytes.map(wholePages));
  const shared = createWasmMemory(layout.endBytes);
  return capacityBytes.map((_, place) => {
    const window = new SharedWindow(layout, shared);
    return {
      memory: new EmulatedMemory(window, place, true),
      compute: new PlainCompute(window),
    };
  });
}
