/**
 * When copies end: egress and ingress ports, paths, latency, cost a copy. Arithmetic only.
 *
 * Asked by copies in virtual and in real time alike, so that both pace by the same rules. It moves
 * no bytes and knows no clock.
 *
 * A copy occupies three things, each first in, first out: the egress port of its source and the
 * ingress port of its target for as long as its bytes take at the port's own rate, and its path for
 * as long as they take at the path's, or at the caller's if that is lower. It starts when all three
 * are free. So a slow copy keeps its own path, and leaves the ports to others in between.
 *
 *     start = max(now, egress free, ingress free, path free)
 *     busy of each = pieces * copyCost + bytes / rate of each;   free of each = start + its busy
 *     due = start + longest busy + latency
 *
 * The rule is that of beta and latency in alpha-beta models of links (Hockney, 1994: time = alpha +
 * beta * bytes), with the fixed cost of each copy command beside it.
 */

import { NS_PER_SECOND } from "../../base/index.ts";
import type { CopyPath } from "../ports.ts";

export interface EmulatedLinks {
  /** Once for a copy that waits for no other. */
  readonly latencyNs: number;
  /** For each piece of a copy. */
  readonly copyCostNs: number;
  /** Of each port of a device; Infinity: unpaced. */
  readonly deviceBytesPerSecond: number;
  /** Of each path that ends at a host. */
  readonly hostBytesPerSecond: number;
  /** (places x places) of each path, where paths are slower than ports. */
  readonly pathBytesPerSecond?: readonly number[];
}

/** Copies end as soon as their bytes are there. */
export const UNPACED_LINKS: EmulatedLinks = {
  latencyNs: 0,
  copyCostNs: 0,
  deviceBytesPerSecond: Infinity,
  hostBytesPerSecond: Infinity,
};

export class LinkPorts {
  readonly #links: EmulatedLinks;
  readonly #deviceCount: number;
  readonly #placeCount: number;
  /** (places) when each port is free. */
  readonly #egressFreeNs: Float64Array;
  readonly #ingressFreeNs: Float64Array;
  /** (places x places) */
  readonly #pathFreeNs: Float64Array;

  constructor(links: EmulatedLinks, deviceCount: number, placeCount: number) {
    this.#links = links;
    this.#deviceCount = deviceCount;
    this.#placeCount = placeCount;
    this.#egressFreeNs = new Float64Array(placeCount);
    this.#ingressFreeNs = new Float64Array(placeCount);
    this.#pathFreeNs = new Float64Array(placeCount * placeCount);
  }

  /**
   * Occupies ports and path.
   * @returns when the copy has arrived
   */
  reserve(
    { from, to }: CopyPath,
    pieces: number,
    bytes: number,
    bytesPerSecondMax: number,
    nowNs: number,
  ): number {
    const { latencyNs, copyCostNs } = this.#links;
    const path = from * this.#placeCount + to;
    const [egress, ingress] = [this.#egressFreeNs, this.#ingressFreeNs];
    const freeNs = Math.max(egress[from]!, ingress[to]!, this.#pathFreeNs[path]!);
    const startNs = Math.max(nowNs, freeNs);
    const busyNs = (bytesPerSecond: number): number =>
      pieces * copyCostNs + (bytes * NS_PER_SECOND) / bytesPerSecond;
    const egressNs = busyNs(this.#portRate(from));
    const ingressNs = busyNs(this.#portRate(to));
    const pathNs = busyNs(Math.min(bytesPerSecondMax, this.#pathRate(from, to)));
    egress[from] = startNs + egressNs;
    ingress[to] = startNs + ingressNs;
    this.#pathFreeNs[path] = startNs + pathNs;
    return Math.round(startNs + Math.max(egressNs, ingressNs, pathNs) + latencyNs);
  }

  /** A host's own port is as wide as all of its paths together: only the paths limit it. */
  #portRate(place: number): number {
    return place < this.#deviceCount ? this.#links.deviceBytesPerSecond : Infinity;
  }

  #pathRate(from: number, to: number): number {
    const { pathBytesPerSecond, hostBytesPerSecond } = this.#links;
    const rate = pathBytesPerSecond?.[from * this.#placeCount + to] ?? Infinity;
    const isHost = from >= this.#deviceCount || to >= this.#deviceCount;
    return isHost ? Math.min(rate, hostBytesPerSecond) : rate;
  }
}
