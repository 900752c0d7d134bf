/**
 * A window whose places are memory of the operating system: other processes map the same bytes.
 *
 * Made by the composition (emulated-server.ts). It knows which places it has created and which are
 * mapped, and not what lies in them.
 *
 * Two kinds, one picture. "wasm": the places are mapped over the linear memory of a shared
 * WebAssembly.Memory, so that WASM kernels compute in place; V8 does not promise that this works,
 * mapping-self-test.ts finds out. "view": the places are mapped in a reserved range that typed
 * arrays show through the FFI; only plain kernels reach it.
 *
 * A share names a descriptor of its creator, `/proc/PID/fd/N`, which processes of the same user can
 * open (man 5 proc); the inode says whether it is still the same memory. A place that is attached
 * for reading is opened for reading: the kernel then refuses to map it writable, to anybody.
 *
 * Invariant: what is not mapped reads as zeros. Nothing is ever unmapped, only mapped over, so a
 * view that outlives its window cannot end the process.
 */

import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { assert, EmaError } from "../../base/index.ts";
import type { MemoryAccess, MemoryShare } from "../ports.ts";
import type { LinuxMemory } from "./linux-memory.ts";
import { createWasmMemory, type WasmMemory } from "./wasm-api.ts";
import type { Window, WindowLayout } from "./window.ts";

/** The backend's name in shares of mapped memory. */
const MAPPED_BACKEND = "emulated-memfd";

export type MappedKind = "wasm" | "view";

export class MappedWindow implements Window {
  readonly layout: WindowLayout;
  readonly bytes: Uint8Array;
  readonly floats: Float32Array;
  readonly wasmMemory: WasmMemory | null;
  readonly #linux: LinuxMemory;
  /** Where the window begins in this process. */
  readonly #start: number;
  /** Descriptors of the places that this window has created. */
  readonly #created = new Map<number, number>();
  readonly #mapped = new Set<number>();

  constructor(layout: WindowLayout, linux: LinuxMemory, kind: MappedKind) {
    this.layout = layout;
    this.#linux = linux;
    this.wasmMemory = kind === "wasm" ? createWasmMemory(layout.endBytes) : null;
    if (this.wasmMemory !== null) {
      this.#start = linux.addressOf(this.wasmMemory.buffer);
      this.bytes = new Uint8Array(this.wasmMemory.buffer);
    } else {
      this.#start = linux.reserve(layout.endBytes);
      this.bytes = new Uint8Array(linux.view(this.#start, layout.endBytes));
    }
    this.floats = new Float32Array(this.bytes.buffer);
  }

  /** Makes the memory of a place, cleared, and maps it for reading and writing. */
  create(place: number): void {
    const bytes = this.layout.capacityBytes[place]!;
    const fd = this.#linux.createMemory(`ema-place-${place}`, bytes);
    this.#created.set(place, fd);
    this.#map(place, fd, "read-write", true);
  }

  share(place: number): MemoryShare {
    const fd = this.#created.get(place);
    assert(fd !== undefined, `place ${place} was not created by this window`);
    return {
      backend: MAPPED_BACKEND,
      device: place,
      capacityBytes: this.layout.capacityBytes[place]!,
      handle: `${process.pid}:${fd}:${fstatSync(fd).ino}`,
    };
  }

  /** @throws EmaError E_DEVICE when its creator, or the memory, is gone */
  attach(share: MemoryShare, access: MemoryAccess): void {
    assert(share.backend === MAPPED_BACKEND, `memory of backend ${share.backend} is not mapped`);
    const fd = openShare(share, access);
    try {
      this.#map(share.device, fd, access, false);
    } finally {
      closeSync(fd);
    }
  }

  detach(place: number): void {
    if (!this.#mapped.delete(place)) return;
    const { bases, capacityBytes } = this.layout;
    this.#linux.mapNothing(this.#start + bases[place]!, capacityBytes[place]!);
  }

  close(): void {
    for (const place of this.#mapped) this.detach(place);
    for (const fd of this.#created.values()) closeSync(fd);
    this.#created.clear();
  }

  #map(place: number, fd: number, access: MemoryAccess, isFirst: boolean): void {
    const { bases, capacityBytes } = this.layout;
    const address = this.#start + bases[place]!;
    this.#linux.mapDescriptor(address, capacityBytes[place]!, fd, access, isFirst);
    this.#mapped.add(place);
  }
}

/** @returns a descriptor of the very memory that was shared, for the caller to close. */
function openShare({ device, capacityBytes, handle }: MemoryShare, access: MemoryAccess): number {
  const [pid, number, inode] = handle.split(":").map(Number);
  const gone = `the memory of place ${device} is gone: process ${pid} holds it no more`;
  let fd: number;
  try {
    const flags = access === "read" ? constants.O_RDONLY : constants.O_RDWR;
    fd = openSync(`/proc/${pid}/fd/${number}`, flags);
  } catch (cause) {
    throw new EmaError("E_DEVICE", gone, { cause });
  }
  const { ino, size } = fstatSync(fd);
  if (ino === inode && size === capacityBytes) return fd;
  closeSync(fd);
  throw new EmaError("E_DEVICE", gone);
}
