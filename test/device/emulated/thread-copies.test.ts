// Copies in real time: a thread carries them out, another waits for them, and none is early.

import { once } from "node:events";
import { afterEach, describe, expect, it } from "vitest";
import {
  createEmulatedServer,
  startThread,
  type EmulatedLinks,
  type EmulatedServer,
} from "../../../src/device/index.ts";
import { createArrivals } from "../../../src/device/emulated/arrivals.ts";
import { LinkPorts } from "../../../src/device/emulated/link-ports.ts";
import { ThreadCopies } from "../../../src/device/emulated/thread-copies.ts";
import type { JoiningThreadData } from "./joining-thread.ts";

const MIB = 2 ** 20;
const CELL = 5;

/** 1 MiB takes a tenth of a second: longer than this thread waits for its turn. */
const SLOW: EmulatedLinks = {
  latencyNs: 1000,
  copyCostNs: 1000,
  deviceBytesPerSecond: 10e6,
  hostBytesPerSecond: 10e6,
};

let server: EmulatedServer;
afterEach(() => server.close());

async function serve(memory: "wasm" | "view" | "shared", links?: EmulatedLinks): Promise<void> {
  const devices = [{ capacityBytes: 2 * MIB }, { capacityBytes: 2 * MIB }];
  server = await createEmulatedServer({ devices, memory, time: "real", ...(links && { links }) });
}

function nowNs(): number {
  return Math.round(performance.now() * 1e6);
}

describe.each(["wasm", "view", "shared"] as const)("memory of kind %s", (kind) => {
  it("lets a thread wait for an arrival and compute on it", async () => {
    await serve(kind);
    const [first, second] = server.devices.map((device) => device.memory);
    const source = second!.allocate(64)!;
    const [staged, target] = [first!.allocate(64)!, first!.allocate(64)!];
    second!.write(source, new Uint8Array(Float32Array.of(1, 2, 3).buffer));
    first!.write(target, new Uint8Array(Float32Array.of(10, 20, 30).buffer));
    const workerData: JoiningThreadData = {
      ...{ handle: server.handle, device: 0, arrivalCell: CELL, count: 3 },
      ...{ source: staged, target },
    };
    const thread = startThread(new URL("./joining-thread.ts", import.meta.url), { workerData });
    const ended = once(thread, "exit");
    await once(thread, "message");
    const answer = once(thread, "message");
    const pieces = [{ sourceAddress: source, targetAddress: staged, bytes: 12 }];
    server.devices[0]!.copies.submit(1, { from: 1, to: 0 }, pieces, Infinity, 0, CELL);
    expect(await answer).toEqual([{ isFull: true }]);
    const found = new Uint8Array(12);
    first!.read(target, found);
    expect([...new Float32Array(found.buffer)]).toEqual([11, 22, 33]);
    await ended;
  });
});

it("tells of no copy before it is due, and serves a caller that blocks", async () => {
  await serve("shared", SLOW);
  const [first, second] = server.devices;
  const [from, to] = [second!.memory.allocate(MIB)!, first!.memory.allocate(MIB)!];
  const { copies } = first!;
  const piece = { sourceAddress: from, targetAddress: to, bytes: MIB };
  for (let id = 0; id < 3; id++) copies.submit(id, { from: 1, to: 0 }, [piece], Infinity, nowNs());
  for (let id = 0; id < 3; id++) {
    const dueNs = copies.nextDueNs();
    Atomics.wait(copies.arrivals, 0, id);
    expect(nowNs()).toBeGreaterThanOrEqual(dueNs - 1000);
    expect(copies.poll(nowNs())).toBe(id);
  }
});

/** What no thread survives. */
const BEYOND = { sourceAddress: 2 ** 40, targetAddress: 2 ** 40, bytes: 1 };

it("throws it to who blocks, whom no event reaches", async () => {
  await serve("shared");
  const { copies } = server.devices[0]!;
  copies.submit(1, { from: 1, to: 0 }, [BEYOND], Infinity, 0);
  const lookOften = (): void => {
    for (let look = 0; look < 10_000; look++) {
      copies.poll(0);
      copies.waitForArrival(0, 1);
    }
  };
  expect(lookOften).toThrow(/^the copy thread of device 0 has ended/);
});

it("throws a fault of the device when its thread has ended", async () => {
  await serve("shared");
  const { copies } = server.devices[0]!;
  copies.submit(1, { from: 1, to: 0 }, [BEYOND], Infinity, 0);
  const failure = await new Promise<unknown>((resolve) => {
    const poll = (): void => {
      try {
        copies.poll(0);
        setTimeout(poll, 1);
      } catch (error) {
        resolve(error);
      }
    };
    poll();
  });
  expect(failure).toMatchObject({
    code: "E_DEVICE",
    message: expect.stringMatching(/^the copy thread of device 0 has ended: [^\n]*$/),
  });
  expect(() => copies.submit(2, { from: 1, to: 0 }, [], Infinity, 0)).toThrow(/has ended/);
});

it("says so when its thread cannot start", async () => {
  await serve("shared");
  const { window } = server.handle;
  const share = { backend: "emulated-memfd", device: 0, capacityBytes: 2 * MIB };
  const gone = { ...share, handle: "999999999:3:1" };
  const places = [{ share: gone, access: "read" as const }];
  const handle = { ...window, kind: "view" as const, places };
  const starting = ThreadCopies.start(0, handle, new LinkPorts(SLOW, 1, 1), createArrivals());
  await expect(starting).rejects.toMatchObject({ code: "E_DEVICE" });
});

it("is void after close, which may be called twice", async () => {
  await serve("shared");
  const { copies } = server.devices[0]!;
  await server.close();
  expect(() => copies.poll(0)).toThrow(/used after close/);
  await server.close();
});
