/**
 * The memory that one holder sees: its device, its peers and the hosts, as one range of addresses.
 *
 * Used by everything in this folder that touches bytes. It knows neither allocations nor copies.
 *
 * A place is a device or a host, by number: devices first, then hosts. Every holder of one server
 * lays the places out alike, so that an address means the same in every thread and process.
 *
 *     0            lead             base of place 1        end
 *     | not memory | place 0        | place 1     | ...    |
 *
 * The lead is never given out: address 0 can be no allocation, and kernels keep scratch there.
 */

import { assert, EmaError } from "../../base/index.ts";
import type { MemoryAccess, MemoryShare } from "../ports.ts";
import type { WasmMemory } from "./wasm-api.ts";

/** The granule of emulated memory: that of WebAssembly, a multiple of every CPU's page. */
export const PAGE_BYTES = 65_536;

/** Bytes in front of the first place: slots of scratch, one for each thread that computes. */
export const LEAD_BYTES = 4 * 1024 * 1024;

/** What 32-bit WebAssembly addresses, and the longest view that the FFI gives. */
const WINDOW_BYTES_MAX = 2 ** 32;

/** Where each place begins in every window of one server. */
export class WindowLayout {
  readonly capacityBytes: readonly number[];
  readonly bases: readonly number[];
  /** The address behind the last place. */
  readonly endBytes: number;

  /**
   * @param capacityBytes of each place: devices, then hosts; whole pages
   * @throws EmaError E_DEVICE when they are more than a window can hold
   */
  constructor(capacityBytes: readonly number[]) {
    let address = LEAD_BYTES;
    const bases: number[] = [];
    for (const bytes of capacityBytes) {
      const isWhole = Number.isSafeInteger(bytes) && bytes > 0 && bytes % PAGE_BYTES === 0;
      assert(isWhole, `a place of ${bytes} B is not whole pages of ${PAGE_BYTES} B`);
      bases.push(address);
      address += bytes;
    }
    if (address > WINDOW_BYTES_MAX) {
      const most = WINDOW_BYTES_MAX - LEAD_BYTES;
      const all = address - LEAD_BYTES;
      const text = `devices and hosts have ${all} B together, at most ${most} B can be emulated`;
      throw new EmaError("E_DEVICE", text);
    }
    this.capacityBytes = [...capacityBytes];
    this.bases = bases;
    this.endBytes = address;
  }
}

/** Typed views over one window; an address is an offset in `bytes`. */
export interface Window {
  readonly layout: WindowLayout;
  readonly bytes: Uint8Array;
  readonly floats: Float32Array;
  /** Present where WebAssembly can compute on these very bytes. */
  readonly wasmMemory: WasmMemory | null;
  /** Names the memory of a place that this window has created. */
  share(place: number): MemoryShare;
  /** Makes the bytes of a share visible at its place. */
  attach(share: MemoryShare, access: MemoryAccess): void;
  /** Makes them invisible again; what lies there afterwards has no meaning. */
  detach(place: number): void;
  /** Lets go of all memory. Views stay safe to touch and show nothing. */
  close(): void;
}

/** @returns bytes rounded up to whole pages. */
export function wholePages(bytes: number): number {
  return Math.ceil(bytes / PAGE_BYTES) * PAGE_BYTES;
}
