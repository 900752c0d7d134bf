// Memory that other processes map: read-only for peers, gone with the last of them.

import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import {
  createEmulatedServer,
  joinEmulatedServer,
  type EmulatedServer,
} from "../../../src/device/index.ts";
import { nodeOptionsFor } from "../../../src/device/emulated/module-thread.ts";
import { LEAD_BYTES } from "../../../src/device/emulated/window.ts";
import type { PeerAnswer, PeerQuestion } from "./peer-process.ts";

const MIB = 2 ** 20;
const isLinux = process.platform === "linux";
const children: ChildProcess[] = [];
const servers: EmulatedServer[] = [];

afterEach(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  for (const server of servers.splice(0)) await server.close();
});

function start(): ChildProcess {
  const module = new URL("./peer-process.ts", import.meta.url);
  const child = fork(module, { execArgv: nodeOptionsFor(module), stdio: ["ignore", 2, 2, "ipc"] });
  children.push(child);
  return child;
}

async function ask(child: ChildProcess, question: PeerQuestion): Promise<PeerAnswer> {
  const reply = once(child, "message");
  child.send(question);
  const [answer] = (await reply) as [PeerAnswer];
  return answer;
}

async function serve(kind: "wasm" | "view"): Promise<EmulatedServer> {
  const devices = [{ capacityBytes: MIB }, { capacityBytes: MIB }];
  const hosts = [{ capacityBytes: MIB }];
  const server = await createEmulatedServer({ devices, hosts, memory: kind, time: "virtual" });
  servers.push(server);
  return server;
}

for (const kind of ["wasm", "view"] as const) {
  describe.runIf(isLinux)(`memory of kind ${kind}`, () => {
    it("is the same bytes in two processes", async () => {
      const server = await serve(kind);
      const [first, second, host] = [...server.devices, ...server.hosts].map(
        (place) => place.memory,
      );
      const address = first!.allocate(64)!;
      first!.write(address, Buffer.from("of the parent"));
      const child = start();
      // What crosses to another process is plain data.
      const handle = JSON.parse(JSON.stringify(server.processHandle));
      await ask(child, { ask: "join", handle, device: 1 });
      expect(await ask(child, { ask: "read", address, bytes: 13 })).toEqual({
        text: "of the parent",
      });
      const own = second!.baseAddress;
      await ask(child, { ask: "write", address: own, text: "of the child" });
      const found = Buffer.alloc(12);
      first!.read(own, found);
      expect(found.toString()).toBe("of the child");
      expect(host!.baseAddress).toBeGreaterThan(own);
    });

    it("cannot be written by a peer, not even by a stray pointer", async () => {
      const server = await serve(kind);
      const { memory } = server.devices[0]!;
      const child = start();
      await ask(child, { ask: "join", handle: server.processHandle!, device: 1 });
      const address = memory.baseAddress;
      const refused = await ask(child, { ask: "write", address, text: "x" });
      expect(refused).toMatchObject({ failure: expect.stringContaining("are not in place 1") });
      if (kind === "wasm") {
        const trapped = await ask(child, { ask: "compute-into", address });
        expect(trapped).toMatchObject({ failure: expect.stringContaining("RuntimeError") });
      }
      const exit = once(child, "exit");
      child.send({ ask: "poke", address } satisfies PeerQuestion);
      expect(await exit).toEqual([null, "SIGSEGV"]);
      const found = new Uint8Array(4);
      memory.read(address, found);
      expect([...found]).toEqual([0, 0, 0, 0]);
    });

    it("outlives its killed owner while somebody maps it, and then is gone", async () => {
      const owner = start();
      const answer = await ask(owner, { ask: "own", kind, text: "still here" });
      const { handle } = answer as Extract<PeerAnswer, { handle: unknown }>;
      const before = mappedPlaces();
      const joined = joinEmulatedServer(handle, 1);
      expect(mappedPlaces()).toBe(before + 2);
      const killed = once(owner, "exit");
      owner.kill("SIGKILL");
      await killed;
      const found = Buffer.alloc(10);
      // Device 0 begins behind the lead, and its first allocation with it.
      joined.memory.read(LEAD_BYTES, found);
      expect(found.toString()).toBe("still here");
      joined.close();
      expect(mappedPlaces()).toBe(before);
      expect(() => joinEmulatedServer(handle, 1)).toThrow(/memory of place 0 is gone/);
    });
  });
}

it.runIf(isLinux)("knows memory that is gone from what came after", async () => {
  const first = await serve("view");
  const handle = first.processHandle!;
  await first.close();
  // The same capacities, and in all likelihood the same descriptors.
  const second = await serve("view");
  expect(second.processHandle!.window.capacityBytes).toEqual(handle.window.capacityBytes);
  expect(() => joinEmulatedServer(handle, 0)).toThrow(/memory of place 0 is gone/);
});

it.runIf(isLinux)("leaves nothing mapped or open after close", async () => {
  const before = mappedPlaces();
  const openBefore = openPlaces();
  const server = await createEmulatedServer({
    devices: [{ capacityBytes: MIB }, { capacityBytes: MIB }],
    time: "real",
  });
  expect(mappedPlaces()).toBeGreaterThan(before);
  expect(openPlaces()).toBe(openBefore + 2);
  await server.close();
  expect(mappedPlaces()).toBe(before);
  expect(openPlaces()).toBe(openBefore);
});

/** How many descriptors of emulated places this process has. */
function openPlaces(): number {
  return readdirSync("/proc/self/fd").filter((fd) => {
    // The folder's own descriptor is in the list, and gone when it is looked at.
    const path = `/proc/self/fd/${fd}`;
    const isOpen = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
    return isOpen && readlinkSync(path).includes("ema-place");
  }).length;
}

/** How many mappings of emulated places this process has. */
function mappedPlaces(): number {
  return readFileSync("/proc/self/maps", "utf8").split("memfd:ema-place").length - 1;
}
