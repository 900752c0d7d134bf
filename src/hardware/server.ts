/**
 * Servers by short name or by parts: which GPU reaches which, and how fast.
 *
 * Called by the scenario reader, which does the YAML. It does not know what travels on a path.
 * Every path is one way and is at most its GPU's port wide; the port is shared by all paths of
 * that GPU.
 *
 *   4xa100-40g          NVSwitch: each pair at port rate
 *   4xa100-40g-mesh     direct links: the board's links dealt out evenly to its peers
 *   4xl40s              PCIe: through the host, and the slot is the port
 */

import { EmaError, suggestNames } from "../base/index.ts";
import {
  findGpu,
  GPU_CATALOGUE,
  GPU_NAMES,
  nvlinkCount,
  peerThroughHostBytesPerSecond,
} from "./gpu-catalogue.ts";
import type { Gpu } from "./gpu.ts";
import type { Path, Topology } from "./topology.ts";

/** GPUs of a server: one is a replay of a single engine, sixteen the largest NVSwitch board. */
export const SERVER_GPUS_MAX = 16;

/** alpha of alpha + bytes/beta: 7.5 us fitted on NCCL sends between two H100 (358 GB/s). */
export const LINK_LATENCY_SECONDS = 7.5e-6;

/** One way: `to` reads memory of `from`. Indices into the list of GPUs. */
export interface CustomLink {
  readonly from: number;
  readonly to: number;
  readonly bytesPerSecond: number;
  readonly latencySeconds: number;
}

export type Links = "switch" | "mesh" | "pcie" | readonly CustomLink[];

const SHORT_NAME = /^(\d+)x([a-z0-9-]+?)(?:-(switch|mesh|pcie))?$/;

/** @throws EmaError E_SERVER with what was expected and the nearest names. */
export function parseServer(text: string): Topology {
  const wanted = text.trim().toLowerCase();
  const match = SHORT_NAME.exec(wanted);
  if (match === null) throw unknownServer(text, wanted);
  const count = Number(match[1]);
  const gpuName = match[2]!;
  if (!(count >= 1 && count <= SERVER_GPUS_MAX)) {
    throw new EmaError("E_SERVER", `server "${text}": expected 1 to ${SERVER_GPUS_MAX} GPUs`);
  }
  const gpu = GPU_CATALOGUE.find((candidate) => candidate.name === gpuName);
  if (gpu === undefined) throw unknownServer(text, wanted);
  const wiring = (match[3] ?? defaultWiring(gpu)) as "switch" | "mesh" | "pcie";
  return topologyFrom(text.trim(), Array.from({ length: count }, () => gpu.name), wiring);
}

/**
 * @param gpuNames catalogue names, one a GPU, in the order of their indices.
 * @throws EmaError E_GPU for an unknown GPU, E_SERVER for links that cannot be.
 */
export function topologyFrom(name: string, gpuNames: readonly string[], links: Links): Topology {
  if (gpuNames.length < 1 || gpuNames.length > SERVER_GPUS_MAX) {
    throw new EmaError(
      "E_SERVER",
      `server "${name}": expected 1 to ${SERVER_GPUS_MAX} GPUs, got ${gpuNames.length}`,
    );
  }
  const gpus = gpuNames.map((gpuName) => findGpu(gpuName));
  if (typeof links !== "string") {
    return { name, wiring: "custom", gpus, paths: customPaths(name, gpus.length, links) };
  }
  if (links === "pcie") {
    // Peers share the slot with the host, so the slot is the port even where NVLink exists.
    const slots = gpus.map((gpu) => ({ ...gpu, portBytesPerSecond: gpu.hostBytesPerSecond }));
    return { name, wiring: links, gpus: slots, paths: allPairs(slots, throughHost) };
  }
  requireNvlink(name, gpus, links);
  const width = links === "switch" ? throughSwitch : throughMesh;
  return { name, wiring: links, gpus, paths: allPairs(gpus, width) };
}

function defaultWiring(gpu: Gpu): "switch" | "pcie" {
  return gpu.formFactor === "sxm" ? "switch" : "pcie";
}

function throughSwitch(source: Gpu, target: Gpu): number {
  return Math.min(source.portBytesPerSecond, target.portBytesPerSecond);
}

function throughHost(source: Gpu, target: Gpu): number {
  return Math.min(peerThroughHostBytesPerSecond(source), peerThroughHostBytesPerSecond(target));
}

/** Whole links only: 12 links and 3 peers are 4 a pair, a third of the port. */
function throughMesh(source: Gpu, target: Gpu, count: number): number {
  const side = (gpu: Gpu): number => {
    const linkCount = nvlinkCount(gpu);
    return (gpu.portBytesPerSecond * Math.floor(linkCount / (count - 1))) / linkCount;
  };
  return Math.min(side(source), side(target));
}

function requireNvlink(name: string, gpus: readonly Gpu[], links: "switch" | "mesh"): void {
  for (const gpu of gpus) {
    const linkCount = nvlinkCount(gpu);
    if (linkCount === 0) {
      throw new EmaError(
        "E_SERVER",
        `server "${name}": ${gpu.label} is a PCIe card without NVLink, so it cannot be wired by ` +
          `${links}; expected pcie`,
      );
    }
    if (links === "mesh" && linkCount < gpus.length - 1) {
      throw new EmaError(
        "E_SERVER",
        `server "${name}": ${gpu.label} has ${linkCount} NVLinks, too few for a mesh of ` +
          `${gpus.length}; expected switch`,
      );
    }
  }
}

function allPairs(
  gpus: readonly Gpu[],
  width: (source: Gpu, target: Gpu, count: number) => number,
): (Path | null)[] {
  return gpus.flatMap((source, sourceIndex) =>
    gpus.map((target, targetIndex) =>
      sourceIndex === targetIndex
        ? null
        : {
            bytesPerSecond: width(source, target, gpus.length),
            latencySeconds: LINK_LATENCY_SECONDS,
          },
    ),
  );
}

function customPaths(name: string, count: number, links: readonly CustomLink[]): (Path | null)[] {
  const paths = Array.from<Path | null>({ length: count * count }).fill(null);
  links.forEach((link, index) => {
    const refuse = (expected: string): EmaError =>
      new EmaError("E_SERVER", `server "${name}": links[${index}]: expected ${expected}`);
    const isGpu = (value: number): boolean =>
      Number.isInteger(value) && value >= 0 && value < count;
    if (!isGpu(link.from) || !isGpu(link.to)) {
      throw refuse(`from and to to be GPU indices 0 to ${count - 1}`);
    }
    if (link.from === link.to) throw refuse("from and to to differ");
    if (!(link.bytesPerSecond > 0 && Number.isFinite(link.bytesPerSecond))) {
      throw refuse("bytesPerSecond to be a positive number");
    }
    if (!(link.latencySeconds >= 0 && Number.isFinite(link.latencySeconds))) {
      throw refuse("latencySeconds to be a number, zero or more");
    }
    if (paths[link.from * count + link.to] !== null) {
      throw refuse(`one link from ${link.from} to ${link.to}, found a second`);
    }
    paths[link.from * count + link.to] = {
      bytesPerSecond: link.bytesPerSecond,
      latencySeconds: link.latencySeconds,
    };
  });
  return paths;
}

function unknownServer(text: string, wanted: string): EmaError {
  const count = /^(\d+)x/.exec(wanted)?.[1] ?? "4";
  const names = GPU_NAMES.map((gpu) => `${count}x${gpu}`);
  return new EmaError(
    "E_SERVER",
    `unknown server "${text}", expected <n>x<gpu>[-switch|-mesh|-pcie]` +
      suggestNames(wanted, names),
  );
}
