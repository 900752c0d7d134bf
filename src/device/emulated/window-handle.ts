/**
 * How a window is opened again: by another thread, or by another process of the same user.
 *
 * Made by whoever has made the places (emulated-server.ts). A handle for a thread may hold shared
 * memory and is posted; one for a process is plain data and survives JSON.
 */

import { assert, EmaError } from "../../base/index.ts";
import type { MemoryAccess, MemoryShare } from "../ports.ts";
import { LinuxMemory } from "./linux-memory.ts";
import { MappedWindow, type MappedKind } from "./mapped-window.ts";
import { SharedWindow } from "./shared-window.ts";
import type { WasmMemory } from "./wasm-api.ts";
import { WindowLayout, type Window } from "./window.ts";

export interface PlaceAccess {
  readonly share: MemoryShare;
  readonly access: MemoryAccess;
}

/** "shared": in one process, with `memory`; else by mapping `places`. */
export interface WindowHandle {
  readonly capacityBytes: readonly number[];
  readonly kind: MappedKind | "shared";
  readonly places: readonly PlaceAccess[];
  readonly memory?: WasmMemory;
}

/** @throws EmaError E_DEVICE when the memory it names cannot be had from here */
export function openWindow(handle: WindowHandle): Window {
  const layout = new WindowLayout(handle.capacityBytes);
  if (handle.kind === "shared") {
    assert(handle.memory !== undefined, "a handle without memory crosses no process");
    return new SharedWindow(layout, handle.memory);
  }
  const linux = LinuxMemory.open();
  if (linux === null) throw new EmaError("E_DEVICE", "emulated memory is mapped on Linux only");
  const window = new MappedWindow(layout, linux, handle.kind);
  try {
    for (const { share, access } of handle.places) window.attach(share, access);
  } catch (error) {
    window.close();
    throw error;
  }
  return window;
}
