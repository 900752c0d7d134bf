// When copies end: ports and paths are queues, latency is once, each piece has its cost.

import fc from "fast-check";
import { expect, it } from "vitest";
import { LinkPorts, UNPACED_LINKS } from "../../../src/device/emulated/link-ports.ts";

/** Three devices and a host, in bytes a nanosecond: ports 10, paths to the host 2. */
const LINKS = {
  latencyNs: 1000,
  copyCostNs: 50,
  deviceBytesPerSecond: 10e9,
  hostBytesPerSecond: 2e9,
};
const HOST = 3;

function ports(links: object = {}): LinkPorts {
  return new LinkPorts({ ...LINKS, ...links }, 3, 4);
}

it("takes latency, the cost of each piece and bytes over the rate", () => {
  expect(ports().reserve({ from: 1, to: 0 }, 3, 8000, Infinity, 500)).toBe(500 + 1000 + 150 + 800);
  expect(ports().reserve({ from: HOST, to: 0 }, 1, 8000, Infinity, 0)).toBe(1000 + 50 + 4000);
  expect(ports().reserve({ from: 1, to: 0 }, 1, 8000, 1e9, 0)).toBe(1000 + 50 + 8000);
});

it("queues at the target's ingress port, and pays latency once", () => {
  const links = ports({ copyCostNs: 0 });
  expect(links.reserve({ from: 1, to: 0 }, 1, 8000, Infinity, 0)).toBe(1800);
  expect(links.reserve({ from: 2, to: 0 }, 1, 8000, Infinity, 100)).toBe(2600);
  expect(links.reserve({ from: 2, to: 0 }, 1, 8000, Infinity, 5000)).toBe(6800);
});

it("queues at the source's egress port", () => {
  const links = ports({ copyCostNs: 0 });
  links.reserve({ from: 2, to: 0 }, 1, 8000, Infinity, 0);
  expect(links.reserve({ from: 2, to: 1 }, 1, 8000, Infinity, 0)).toBe(2600);
});

it("lets others use the ports while a slow copy keeps its path", () => {
  const links = ports({ copyCostNs: 0 });
  links.reserve({ from: 1, to: 0 }, 1, 8000, 1e9, 0);
  expect(links.reserve({ from: 2, to: 0 }, 1, 8000, Infinity, 0)).toBe(800 + 1800);
  expect(links.reserve({ from: 1, to: 0 }, 1, 8000, Infinity, 0)).toBe(8000 + 1800);
});

it("keeps to a path that is slower than its ports", () => {
  const pathBytesPerSecond = new Array<number>(16).fill(Infinity);
  pathBytesPerSecond[4] = 4e9;
  const links = ports({ copyCostNs: 0, pathBytesPerSecond });
  expect(links.reserve({ from: 1, to: 0 }, 1, 8000, Infinity, 0)).toBe(3000);
});

it("ends at once what is unpaced", () => {
  const links = new LinkPorts(UNPACED_LINKS, 2, 3);
  expect(links.reserve({ from: 1, to: 0 }, 9, 1e9, Infinity, 77)).toBe(77);
});

it("ends copies of one path in order, and moves no more than a port can", () => {
  const copy = fc.record({
    from: fc.nat(HOST),
    to: fc.nat(HOST),
    bytes: fc.nat(100_000),
    pieces: fc.integer({ min: 1, max: 5 }),
    gapNs: fc.nat(5000),
    bytesPerSecondMax: fc.constantFrom(Infinity, 1e9, 7e9),
  });
  fc.assert(
    fc.property(fc.array(copy, { maxLength: 60 }), (copies) => {
      const links = ports();
      const lastNs = new Map<number, number>();
      const busyNs = [0, 0, 0];
      let [nowNs, endNs] = [0, 0];
      for (const { from, to, bytes, pieces, gapNs, bytesPerSecondMax } of copies) {
        if (from === to) continue;
        nowNs += gapNs;
        const dueNs = links.reserve({ from, to }, pieces, bytes, bytesPerSecondMax, nowNs);
        expect(dueNs).toBeGreaterThanOrEqual(lastNs.get(from * 4 + to) ?? nowNs);
        lastNs.set(from * 4 + to, dueNs);
        if (to < HOST) busyNs[to]! += pieces * 50 + bytes / 10;
        endNs = Math.max(endNs, dueNs);
      }
      for (const busy of busyNs) expect(endNs + 1).toBeGreaterThanOrEqual(busy);
    }),
  );
});
