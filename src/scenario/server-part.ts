/**
 * The `server` of a scenario: a short name, a server.yaml, or GPUs and links written in place.
 *
 * Called while a scenario is resolved. What GPUs and wirings exist is the hardware layer's.
 */

import { suggestNames } from "../base/index.ts";
import {
  findGpu,
  LINK_LATENCY_SECONDS,
  parseServer,
  topologyFrom,
  type CustomLink,
  type Links,
  type Topology,
} from "../hardware/index.ts";
import { Checker } from "./checker.ts";
import { readScenarioText, type KeyPath } from "./scenario-text.ts";
import { LINK, SERVER } from "./schema.ts";

const WIRINGS = ["switch", "mesh", "pcie"] as const;

/**
 * @param locate finds a file named in the scenario.
 * @param latencySeconds replaces the latency of every path where it is given.
 */
export function resolveServer(
  checker: Checker,
  locate: (path: string) => string,
  latencySeconds: number | undefined,
): Topology {
  const written = checker.valueAt(["server"]);
  const topology = readServer(checker, written, locate);
  if (latencySeconds === undefined) return topology;
  const paths = topology.paths.map((path) => (path === null ? null : { ...path, latencySeconds }));
  return { ...topology, paths };
}

function readServer(
  checker: Checker,
  written: unknown,
  locate: (path: string) => string,
): Topology {
  if (typeof written === "string") {
    if (!/[/\\]|\.ya?ml$/.test(written)) {
      return checker.about(["server"], () => parseServer(written));
    }
    const file = locate(written);
    const text = checker.about(["server"], () => readScenarioText(file, "E_SERVER"));
    return readParts(new Checker(text.value, (path) => text.where(path), "E_SERVER"), [], written);
  }
  if (typeof written === "object" && written !== null && !Array.isArray(written)) {
    return readParts(checker, ["server"], "inline");
  }
  const forms = "a short name (4xa100-40g), the path of a server.yaml or {gpus, links}";
  return checker.fail(["server"], `expected ${forms}`);
}

function readParts(checker: Checker, path: KeyPath, name: string): Topology {
  const server = checker.read(SERVER, path);
  server.gpus.forEach((gpu, index) => checker.about([...path, "gpus", index], () => findGpu(gpu)));
  const links = readLinks(checker, [...path, "links"], server.links);
  return checker.about(path, () => {
    if (links !== null) return topologyFrom(name, server.gpus, links);
    // Without a word on links a server is wired like the short name of its first GPU.
    return topologyFrom(name, server.gpus, parseServer(`1x${server.gpus[0]!}`).wiring as Links);
  });
}

function readLinks(checker: Checker, path: KeyPath, written: unknown): Links | null {
  if (written === undefined) return null;
  if (Array.isArray(written)) {
    return written.map((_, index): CustomLink => {
      const link = checker.read(LINK, [...path, index]);
      return { ...link, latencySeconds: link.latencySeconds ?? LINK_LATENCY_SECONDS };
    });
  }
  const wiring = WIRINGS.find((candidate) => candidate === written);
  if (wiring !== undefined) return wiring;
  const hint = typeof written === "string" ? suggestNames(written, WIRINGS) : "";
  return checker.fail(path, `expected switch, mesh, pcie or a list of links${hint}`);
}
