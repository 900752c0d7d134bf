/**
 * Emulated devices put together: memory, copy engines and compute of all devices of one server.
 *
 * Called by composition roots and tests; everything else sees ports. The creator gives memory out
 * and submits copies; threads and other processes that compute join by a handle.
 *
 *     createEmulatedServer            one window a device: its own memory writable, peers' readable
 *       |-- devices[i]                memory, copies, compute
 *       |-- hosts[i]                  memory
 *       `-- handle, processHandle --> joinEmulatedServer(handle, i) in a thread or a process
 *
 * What the machine cannot do is done in a plainer way, and told in one line (`notes`).
 */

import { assert } from "../../base/index.ts";
import type { Compute, DeviceCopies, DeviceMemory, MemoryShare } from "../ports.ts";
import { createArrivals } from "./arrivals.ts";
import { isWasmRight } from "./compute-self-test.ts";
import { EmulatedMemory } from "./emulated-memory.ts";
import { LinkPorts, UNPACED_LINKS, type EmulatedLinks } from "./link-ports.ts";
import { LinuxMemory } from "./linux-memory.ts";
import { MappedWindow } from "./mapped-window.ts";
import { canMapUnderWasm } from "./mapping-probe.ts";
import { PlainCompute } from "./plain-compute.ts";
import { SharedWindow } from "./shared-window.ts";
import { ThreadCopies } from "./thread-copies.ts";
import { VirtualCopies } from "./virtual-copies.ts";
import { createWasmMemory } from "./wasm-api.ts";
import { WasmCompute } from "./wasm-compute.ts";
import { openWindow, type PlaceAccess, type WindowHandle } from "./window-handle.ts";
import { WindowLayout, wholePages, type Window } from "./window.ts";

export interface EmulatedServerOptions {
  /** Capacities are rounded up to whole pages. */
  readonly devices: readonly { readonly capacityBytes: number }[];
  readonly hosts?: readonly { readonly capacityBytes: number }[];
  /** Unpaced if left out. */
  readonly links?: EmulatedLinks;
  readonly time: "real" | "virtual";
  /** "auto": WASM where its self-test passes. */
  readonly kernels?: "auto" | "plain";
  /**
   * "wasm", "view": memory that other processes map, with or without WebAssembly on it; "shared":
   * inside this process. "auto" (default): the first of these that works here.
   */
  readonly memory?: "auto" | WindowHandle["kind"];
}

export interface EmulatedDevice {
  readonly memory: DeviceMemory;
  readonly copies: DeviceCopies;
  /** Computes in the calling thread. */
  readonly compute: Compute;
}

export interface EmulatedServer {
  readonly devices: readonly EmulatedDevice[];
  readonly hosts: readonly { readonly memory: DeviceMemory }[];
  /** For threads of this process: post it. */
  readonly handle: EmulatedServerHandle;
  /** For other processes of the same user: plain data. `null` with memory "shared". */
  readonly processHandle: EmulatedServerHandle | null;
  readonly memoryKind: WindowHandle["kind"];
  readonly kernels: "wasm" | "plain";
  /** What this machine cannot do, a line each. */
  readonly notes: readonly string[];
  /** Ends copy threads and gives memory back. Resolves when the threads have gone. */
  close(): Promise<void>;
}

/** How a thread or a process finds the devices of a server. */
export interface EmulatedServerHandle {
  readonly deviceCount: number;
  readonly kernels: "wasm" | "plain";
  readonly window: WindowHandle;
  /** (devices) arrival counters; threads only. */
  readonly arrivals?: readonly Int32Array[];
}

/** What a thread that computes for a device holds. */
export interface JoinedDevice {
  /** Gives nothing out: `allocate` always misses. */
  readonly memory: DeviceMemory;
  readonly compute: Compute;
  /** The device's; `null` in another process. */
  readonly arrivals: Int32Array | null;
  close(): void;
}

/** @throws EmaError E_DEVICE when memory cannot be had, or is more than fits */
export async function createEmulatedServer(
  options: EmulatedServerOptions,
): Promise<EmulatedServer> {
  const { devices, hosts = [], links = UNPACED_LINKS, time } = options;
  const capacityBytes = [...devices, ...hosts].map((place) => wholePages(place.capacityBytes));
  const layout = new WindowLayout(capacityBytes);
  const notes: string[] = [];
  const memoryKind = await chooseMemory(options.memory ?? "auto", notes);
  const hasWasm = memoryKind !== "view" && options.kernels !== "plain" && isWasmRight();
  const kernels = hasWasm ? "wasm" : "plain";
  if (!hasWasm && options.kernels !== "plain") notes.push("no WASM kernels here: plain ones serve");
  const { windows, base } = createWindows(layout, memoryKind, devices.length);
  const arrivals = devices.map(() => createArrivals());
  const ports = new LinkPorts(links, devices.length, capacityBytes.length);
  const handle: EmulatedServerHandle = {
    deviceCount: devices.length,
    kernels,
    window: base,
    arrivals,
  };
  const memories = windows.map((window, place) => new EmulatedMemory(window, place, true));
  const copies: (VirtualCopies | ThreadCopies)[] = [];
  const close = async (): Promise<void> => {
    for (const engine of copies) engine.close();
    for (const memory of memories) memory.close();
    await Promise.all(copies.map((engine) => engine.ended));
  };
  try {
    const starting = devices.map((_, place): Promise<ThreadCopies> | VirtualCopies => {
      const cells = arrivals[place]!;
      if (time === "virtual") return new VirtualCopies(windows[place]!.bytes, ports, cells);
      const window = windowOfThread(windows[place]!, base, place, devices.length);
      return ThreadCopies.start(place, window, ports, cells);
    });
    const outcomes = await Promise.allSettled(starting);
    for (const outcome of outcomes) if (outcome.status === "fulfilled") copies.push(outcome.value);
    for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  } catch (error) {
    await close();
    throw error;
  }
  return {
    devices: devices.map((_, place) => ({
      memory: memories[place]!,
      copies: copies[place]!,
      compute: computeFor(windows[place]!, kernels),
    })),
    hosts: memories.slice(devices.length).map((memory) => ({ memory })),
    handle,
    processHandle: memoryKind === "shared" ? null : withoutThreads(handle),
    memoryKind,
    kernels,
    notes,
    close,
  };
}

/**
 * Opens one device's window in this thread or process: its own memory and the hosts' writable, its
 * peers' readable.
 * @throws EmaError E_DEVICE when the server is gone
 */
export function joinEmulatedServer(handle: EmulatedServerHandle, device: number): JoinedDevice {
  const { deviceCount, kernels, arrivals } = handle;
  assert(device >= 0 && device < deviceCount, `device ${device} of ${deviceCount}`);
  const window = openWindow(windowFor(handle.window, device, deviceCount));
  const memory = new EmulatedMemory(window, device, false);
  return {
    memory,
    compute: computeFor(window, kernels),
    arrivals: arrivals?.[device] ?? null,
    close: () => memory.close(),
  };
}

async function chooseMemory(
  wanted: "auto" | WindowHandle["kind"],
  notes: string[],
): Promise<WindowHandle["kind"]> {
  if (wanted !== "auto") return wanted;
  if (LinuxMemory.open() === null) {
    notes.push(`no memory on ${process.platform} that processes share: devices stay in this one`);
    return "shared";
  }
  if (await canMapUnderWasm()) return "wasm";
  notes.push("WebAssembly cannot compute in mapped memory here");
  return "view";
}

interface Windows {
  /** (places) each with its own place writable. */
  readonly windows: readonly Window[];
  /** Every place, readable. */
  readonly base: WindowHandle;
}

function createWindows(
  layout: WindowLayout,
  kind: WindowHandle["kind"],
  deviceCount: number,
): Windows {
  const { capacityBytes } = layout;
  if (kind === "shared") {
    const memory = createWasmMemory(layout.endBytes);
    const windows = capacityBytes.map(() => new SharedWindow(layout, memory));
    return { windows, base: { capacityBytes, kind, places: [], memory } };
  }
  const linux = LinuxMemory.open();
  assert(linux !== null, `memory of kind ${kind} wants Linux`);
  const windows: MappedWindow[] = [];
  try {
    for (let place = 0; place < capacityBytes.length; place++) {
      const window = new MappedWindow(layout, linux, kind);
      windows.push(window);
      window.create(place);
    }
    const shares = windows.map((window, place) => window.share(place));
    windows.forEach((window, place) => attachOthers(window, shares, place, deviceCount));
    const places = shares.map((share) => ({ share, access: "read" }) as const);
    return { windows, base: { capacityBytes, kind, places } };
  } catch (error) {
    for (const window of windows) window.close();
    throw error;
  }
}

function attachOthers(
  window: MappedWindow,
  shares: readonly MemoryShare[],
  own: number,
  deviceCount: number,
): void {
  for (const { share, access } of accessOf(shares, own, deviceCount)) {
    if (share.device !== own) window.attach(share, access);
  }
}

/** A device writes its own memory and the hosts'; it reads its peers'. */
function accessOf(shares: readonly MemoryShare[], own: number, deviceCount: number): PlaceAccess[] {
  return shares.map((share) => {
    const isWritable = share.device === own || share.device >= deviceCount;
    return { share, access: isWritable ? "read-write" : "read" };
  });
}

function windowFor(base: WindowHandle, own: number, deviceCount: number): WindowHandle {
  const shares = base.places.map(({ share }) => share);
  return { ...base, places: accessOf(shares, own, deviceCount) };
}

/** A copy thread writes what its device's window shows: that very memory, or the same again. */
function windowOfThread(
  window: Window,
  base: WindowHandle,
  own: number,
  deviceCount: number,
): WindowHandle {
  if (window.wasmMemory === null) return windowFor(base, own, deviceCount);
  return { ...base, kind: "shared", places: [], memory: window.wasmMemory };
}

function computeFor(window: Window, kernels: "wasm" | "plain"): Compute {
  return kernels === "wasm" ? new WasmCompute(window) : new PlainCompute(window);
}

function withoutThreads({ deviceCount, kernels, window }: EmulatedServerHandle) {
  return { deviceCount, kernels, window };
}
