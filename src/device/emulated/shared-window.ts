/**
 * A window inside this process: one shared array buffer that all its threads see.
 *
 * Made by the composition (emulated-server.ts, plain-devices.ts) where tests want no operating
 * system, and where there is none that maps one memory into several processes. A peer's bytes are
 * always there, and nothing keeps a peer from writing them.
 */

import { assert } from "../../base/index.ts";
import type { MemoryAccess, MemoryShare } from "../ports.ts";
import type { WasmMemory } from "./wasm-api.ts";
import type { Window, WindowLayout } from "./window.ts";

/** The backend's name in shares of in-process memory. */
const SHARED_BACKEND = "emulated-shared";

export class SharedWindow implements Window {
  readonly layout: WindowLayout;
  readonly bytes: Uint8Array;
  readonly floats: Float32Array;
  readonly wasmMemory: WasmMemory;

  /** @param memory the one that every window of the server shows */
  constructor(layout: WindowLayout, memory: WasmMemory) {
    const { buffer } = memory;
    assert(buffer.byteLength >= layout.endBytes, `a window of ${buffer.byteLength} B is too short`);
    this.layout = layout;
    this.bytes = new Uint8Array(buffer);
    this.floats = new Float32Array(buffer);
    this.wasmMemory = memory;
  }

  share(place: number): MemoryShare {
    const capacityBytes = this.layout.capacityBytes[place]!;
    return { backend: SHARED_BACKEND, device: place, capacityBytes, handle: "" };
  }

  attach(share: MemoryShare, _access: MemoryAccess): void {
    const isMine = share.backend === SHARED_BACKEND;
    assert(isMine, `memory of backend ${share.backend} is not in this window`);
  }

  detach(_place: number): void {
    // The bytes are there for as long as the buffer is.
  }

  close(): void {
    // The buffer goes when its last view does.
  }
}
