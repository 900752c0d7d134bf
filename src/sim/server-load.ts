/**
 * What engines do to each other's memory while they run: one register a GPU.
 *
 * Written by costed runners and copy engines, read when a step is costed. It does not know slices
 * or sequences, only bytes a second.
 *
 * Two models of what reads of others cost a memory-bound step (no public measurement decides
 * between them, so results name theirs). With B achieved, P peak bandwidth and b read by others:
 *
 *     subtractive   B / (B - b)              what others read is taken away
 *     ceiling       max(1, (B + b) / 0.92 P) both may reach 92 % of the peak together
 */

import { assert } from "../base/index.ts";
import type { Topology } from "../hardware/index.ts";
import type { Interference } from "../scenario/index.ts";

/** The sum that reads of both may reach: published kernels leave 90 to 93 % of peak to all. */
const CEILING_SHARE = 0.92;

export class ServerLoad {
  readonly #gpuCount: number;
  readonly #topology: Topology;
  readonly #interference: Interference;
  readonly #lenderShare: number | null;
  /** (gpus x gpus) bytes/s of GPU `lender` read by `reader`'s steps. */
  readonly #rate: Float64Array;
  /** (gpus x gpus) bytes/s of copies, paced ones and those exempt from pacing. */
  readonly #pacedCopies: Float64Array;
  readonly #exemptCopies: Float64Array;
  /** (gpus) the slowdown as last worked out; NaN when what it follows from has changed. */
  readonly #slowdown: Float64Array;
  /** (gpus x gpus) bytes and busy time of each path, for the record. */
  readonly pathBytes: Float64Array;
  readonly pathBusyNs: Float64Array;

  constructor(topology: Topology, interference: Interference, lenderShare: number | null) {
    this.#gpuCount = topology.gpus.length;
    this.#topology = topology;
    this.#interference = interference;
    this.#lenderShare = lenderShare;
    this.#rate = new Float64Array(this.#gpuCount * this.#gpuCount);
    this.#pacedCopies = new Float64Array(this.#gpuCount * this.#gpuCount);
    this.#exemptCopies = new Float64Array(this.#gpuCount * this.#gpuCount);
    this.#slowdown = new Float64Array(this.#gpuCount).fill(NaN);
    this.pathBytes = new Float64Array(this.#gpuCount * this.#gpuCount);
    this.pathBusyNs = new Float64Array(this.#gpuCount * this.#gpuCount);
  }

  /** `reader` reads `lender`'s memory at this rate until told otherwise. */
  setRate(lender: number, reader: number, bytesPerSecond: number): void {
    const index = lender * this.#gpuCount + reader;
    if (this.#rate[index] === bytesPerSecond) return;
    this.#rate[index] = bytesPerSecond;
    this.#slowdown[lender] = NaN;
  }

  /** Copies add to the load when they begin and take it off when they end. */
  addCopies(gpu: number, mover: number, bytesPerSecond: number, isExempt: boolean): void {
    const copies = isExempt ? this.#exemptCopies : this.#pacedCopies;
    const index = gpu * this.#gpuCount + mover;
    copies[index] = Math.max(0, copies[index]! + bytesPerSecond);
    this.#slowdown[gpu] = NaN;
  }

  /** A GPU whose process has ended reads and copies nothing any more. */
  forget(reader: number): void {
    for (let gpu = 0; gpu < this.#gpuCount; gpu++) {
      for (const rates of [this.#rate, this.#pacedCopies, this.#exemptCopies]) {
        rates[gpu * this.#gpuCount + reader] = 0;
      }
      this.#slowdown[gpu] = NaN;
    }
  }

  recordPath(source: number, target: number, bytes: number, busyNs: number): void {
    const index = source * this.#gpuCount + target;
    this.pathBytes[index]! += bytes;
    this.pathBusyNs[index]! += busyNs;
  }

  /** Bytes a second that others read of this GPU now, `except` left out. */
  othersBytesPerSecond(gpu: number, except = -1): number {
    let sum = 0;
    for (let reader = 0; reader < this.#gpuCount; reader++) {
      if (reader !== except) sum += this.#rate[gpu * this.#gpuCount + reader]!;
    }
    return sum;
  }

  /**
   * @returns the factor (>= 1) on memory-bound time of a step that begins now on this GPU.
   * Borrowers keep to the lender's share within one chunk of the step's start, so no more than the
   * share counts; copies that the lender asked for itself come on top.
   */
  slowdown(gpu: number): number {
    const known = this.#slowdown[gpu]!;
    if (!Number.isNaN(known)) return known;
    const slowdown = this.#slowdownNow(gpu);
    this.#slowdown[gpu] = slowdown;
    return slowdown;
  }

  #slowdownNow(gpu: number): number {
    const { hbmBytesPerSecond, hbmPeakBytesPerSecond } = this.#topology.gpus[gpu]!;
    let paced = this.othersBytesPerSecond(gpu) + this.#copies(this.#pacedCopies, gpu);
    if (this.#lenderShare !== null) paced = Math.min(paced, this.#lenderShare * hbmBytesPerSecond);
    const read = paced + this.#copies(this.#exemptCopies, gpu);
    if (read === 0) return 1;
    if (this.#interference === "ceiling") {
      const ceiling = CEILING_SHARE * hbmPeakBytesPerSecond;
      return Math.max(1, (hbmBytesPerSecond + read) / ceiling);
    }
    const left = hbmBytesPerSecond - read;
    assert(left > 0, () => `server load: ${read} B/s of ${hbmBytesPerSecond} read by others`);
    return hbmBytesPerSecond / left;
  }

  #copies(rates: Float64Array, gpu: number): number {
    let sum = 0;
    const first = gpu * this.#gpuCount;
    for (let mover = 0; mover < this.#gpuCount; mover++) sum += rates[first + mover]!;
    return sum;
  }
}
