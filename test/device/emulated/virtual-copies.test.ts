// Copies in virtual time: due when the ports say so, and not a byte before they are polled.

import { expect, it } from "vitest";
import { createEmulatedServer } from "../../../src/device/index.ts";

const LINKS = {
  latencyNs: 1000,
  copyCostNs: 50,
  deviceBytesPerSecond: 10e9,
  hostBytesPerSecond: 2e9,
};

it("moves bytes when they are polled past due, in the order of time", async () => {
  const place = { capacityBytes: 2 ** 20 };
  const server = await createEmulatedServer({
    ...{ devices: [place, place, place], hosts: [place], links: LINKS },
    ...{ memory: "shared", time: "virtual" },
  });
  const [own, peer, , host] = [...server.devices, ...server.hosts].map((each) => each.memory);
  const { copies } = server.devices[0]!;
  const [target, source, far] = [own!, peer!, host!].map((memory) => memory.allocate(8000)!);
  peer!.write(source!, Uint8Array.of(1));
  host!.write(far!, Uint8Array.of(2));
  const piece = { targetAddress: target!, bytes: 8000 };
  copies.submit(7, { from: 3, to: 0 }, [{ ...piece, sourceAddress: far! }], Infinity, 0);
  copies.submit(8, { from: 1, to: 0 }, [{ ...piece, sourceAddress: source! }], Infinity, 0, 3);
  const found = new Uint8Array(1);
  const first = (): number => {
    own!.read(target!, found);
    return found[0]!;
  };

  // The ingress port is free after 850 ns; the path from the host takes 4050.
  expect(copies.nextDueNs()).toBe(850 + 850 + 1000);
  expect(copies.poll(2699)).toBe(-1);
  expect(first()).toBe(0);
  expect(copies.arrivals[3]).toBe(0);
  expect(copies.poll(2700)).toBe(8);
  expect(copies.arrivals[3]).toBe(1);
  expect(first()).toBe(1);
  expect(copies.nextDueNs()).toBe(5050);
  expect(copies.poll(1e9)).toBe(7);
  expect(first()).toBe(2);
  expect(copies.nextDueNs()).toBe(Infinity);
  await server.close();
});
