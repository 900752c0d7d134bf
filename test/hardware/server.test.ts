/** Servers by short name and by parts: every kind of wiring, and every refusal in one line. */

import { describe, expect, it } from "vitest";
import {
  findGpu,
  GPU_NAMES,
  parseServer,
  pathBetween,
  topologyFrom,
  type CustomLink,
} from "../../src/hardware/index.ts";
import { expectFault } from "./faults.ts";

describe("short names", () => {
  it("send SXM through a switch at port rate", () => {
    const server = parseServer("4xa100-40g");
    expect(server.wiring).toBe("switch");
    expect(server.name).toBe("4xa100-40g");
    expect(server.gpus.map((gpu) => gpu.name)).toEqual(Array(4).fill("a100-40g"));
    for (let source = 0; source < 4; source++) {
      for (let target = 0; target < 4; target++) {
        const path = pathBetween(server, source, target);
        if (source === target) expect(path).toBeNull();
        else expect(path).toEqual({ bytesPerSecond: 276e9, latencySeconds: 7.5e-6 });
      }
    }
  });

  it("send L40S over PCIe, whose slot is the port", () => {
    const server = parseServer("2xl40s");
    expect(server.wiring).toBe("pcie");
    expect(pathBetween(server, 0, 1)?.bytesPerSecond).toBe(22e9);
    expect(server.gpus[0]!.portBytesPerSecond).toBe(26e9);
  });

  it.each([
    ["2xa100-80g-mesh", 276e9],
    ["4xa100-80g-mesh", 92e9],
    ["8xa100-80g-mesh", 23e9],
    ["4xh100-mesh", 376e9 / 3],
    ["8xh200-mesh", (376e9 * 2) / 18],
  ])("deal a board's links out to its peers: %s", (name, bytesPerSecond) => {
    const server = parseServer(name);
    expect(server.wiring).toBe("mesh");
    expect(pathBetween(server, 1, 0)!.bytesPerSecond).toBeCloseTo(bytesPerSecond, 3);
    const gpu = server.gpus[0]!;
    expect(gpu.portBytesPerSecond).toBe(findGpu(gpu.name).portBytesPerSecond);
  });

  it("wire SXM boards over PCIe when asked, port and all", () => {
    const server = parseServer("4xh100-pcie");
    expect(pathBetween(server, 0, 3)!.bytesPerSecond).toBe(37e9);
    expect(server.gpus[0]!.portBytesPerSecond).toBe(50e9);
    expect(findGpu("h100").portBytesPerSecond).toBe(376e9);
  });

  it("cover each GPU from 1 to 16, with a suffix or without, in any case", () => {
    for (const gpu of GPU_NAMES) {
      for (const count of [1, 2, 16]) {
        const isCard = findGpu(gpu).formFactor === "pcie";
        for (const suffix of isCard ? ["", "-pcie"] : ["", "-switch", "-pcie"]) {
          const server = parseServer(` ${count}X${gpu.toUpperCase()}${suffix} `);
          expect(server.gpus).toHaveLength(count);
          expect(server.paths).toHaveLength(count * count);
        }
      }
    }
    expect(parseServer("1xa100-40g-mesh").paths).toEqual([null]);
  });
});

describe("short names that are refused", () => {
  it.each([
    ["4xa100", /unknown server "4xa100".*4xa100-40g/],
    ["4xh10", /4xh100/],
    ["4xl40s-switch", /PCIe card without NVLink.*expected pcie/],
    ["2xl40s-mesh", /PCIe card without NVLink/],
    ["16xa100-40g-mesh", /12 NVLinks, too few for a mesh of 16; expected switch/],
    ["0xh100", /expected 1 to 16 GPUs/],
    ["17xh100", /expected 1 to 16 GPUs/],
    ["999999999999999999999xh100", /expected 1 to 16 GPUs/],
    ["", /expected <n>x<gpu>/],
    ["h100", /expected <n>x<gpu>/],
    ["4xh100-ring", /4xh100/],
    ["-1xh100", /expected <n>x<gpu>/],
    ["1.5xh100", /expected <n>x<gpu>/],
  ])("%s", (text, message) => {
    expectFault(() => parseServer(text), "E_SERVER", message);
  });
});

describe("servers by parts", () => {
  const link: CustomLink = { from: 0, to: 1, bytesPerSecond: 5e9, latencySeconds: 1e-6 };

  it("keep custom links one way", () => {
    const server = topologyFrom("my.yaml", ["h100", "l40s"], [link]);
    expect(server.wiring).toBe("custom");
    expect(pathBetween(server, 0, 1)).toEqual({ bytesPerSecond: 5e9, latencySeconds: 1e-6 });
    expect(pathBetween(server, 1, 0)).toBeNull();
  });

  it("are as wide as the narrower of two boards", () => {
    const server = topologyFrom("mixed", ["a100-80g", "h100"], "switch");
    expect(pathBetween(server, 0, 1)!.bytesPerSecond).toBe(276e9);
    expect(pathBetween(server, 1, 0)!.bytesPerSecond).toBe(276e9);
  });

  it("refuse a switch for a server with a PCIe card, and unknown GPUs by name", () => {
    expectFault(() => topologyFrom("x", ["h100", "l40s"], "switch"), "E_SERVER", /L40S.*NVLink/);
    expectFault(() => topologyFrom("x", ["h100", "h20"], "switch"), "E_GPU", /"h20".*h200/);
    expectFault(() => topologyFrom("x", [], "switch"), "E_SERVER", /1 to 16 GPUs, got 0/);
    const many = Array<string>(17).fill("h100");
    expectFault(() => topologyFrom("x", many, "switch"), "E_SERVER", /got 17/);
  });

  it.each([
    [{ from: 2 }, /indices 0 to 1/],
    [{ to: -1 }, /indices 0 to 1/],
    [{ from: 0.5 }, /indices 0 to 1/],
    [{ to: 0 }, /from and to to differ/],
    [{ bytesPerSecond: 0 }, /bytesPerSecond/],
    [{ bytesPerSecond: NaN }, /bytesPerSecond/],
    [{ bytesPerSecond: Infinity }, /bytesPerSecond/],
    [{ latencySeconds: -1 }, /latencySeconds/],
    [{ latencySeconds: NaN }, /latencySeconds/],
  ])("refuse a link with %j", (change, message) => {
    expectFault(
      () => topologyFrom("my.yaml", ["h100", "h100"], [{ ...link, ...change }]),
      "E_SERVER",
      message,
    );
  });

  it("refuse the same link twice", () => {
    expectFault(
      () => topologyFrom("my.yaml", ["h100", "h100"], [link, link]),
      "E_SERVER",
      /links\[1\].*found a second/,
    );
  });
});
