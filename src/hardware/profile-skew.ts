/**
 * What unequal contexts add to a decode batch: alpha, the share of the way from the time at the
 * mean context to the time at the largest one.
 *
 * Used by profile-cost-model.ts. The profile measured batches of two kinds of sequences, few long
 * and many short ones, and fitted alpha in buckets of five axes. A bucket's value belongs to the
 * points that were measured in it, so alpha is interpolated between those points: read as a step
 * function it would jump by 10 ms of a 100 ms step when one sequence passes 4,096 tokens
 * (docs/EXPERIMENTS.md). For a batch of any lengths the share of long sequences is the one that
 * gives its mean: (mean - least) / (most - least).
 */

import { EmaError } from "../base/index.ts";
import { rowsOf, type ProfileText } from "./profile-tables.ts";

/** Labels of an axis in order, and the point that stands for each. */
interface Axis {
  readonly labels: readonly string[];
  readonly points: readonly number[];
  /** Whether distances are ratios. */
  readonly isLogarithmic?: boolean;
}

/** Measured at 2, 4 ... 256 decodes; a label is its point. */
const DECODES: Axis = {
  labels: ["n<=2", "n<=4", "n<=8", "n<=16", "n<=32", "n<=64", "n<=128", "n<=256"],
  points: [2, 4, 8, 16, 32, 64, 128, 256],
};
/**
 * Measured with 1/16, 1/8, 1/4, 1/2, 3/4 and 0.9 of the sequences long: the means of a bucket's.
 */
const LONG_SHARE: Axis = {
  labels: ["sr<=5%", "sr<=15%", "sr<=40%", "sr<=70%", "sr>70%"],
  points: [0.025, 0.09375, 0.25, 0.5, 0.825],
};
/** Measured at powers of two: the geometric means of 512 and 1024, 2048 and 4096, and so on. */
const LARGEST_CONTEXT: Axis = {
  labels: ["kvB<=1k", "kvB<=4k", "kvB<=16k"],
  points: [724, 2896, 11585],
  isLogarithmic: true,
};
const PAST: Axis = {
  labels: ["kp=0", "kp<=512", "kp<=1k", "kp<=2k", "kp<=4k", "kp<=8k"],
  points: [0, 512, 1024, 2048, 4096, 8192],
};
const COLUMNS = ["pc", "n_label", "skew_rate_label", "kv_big_label", "kp_label", "alpha"];

export interface SkewPoint {
  readonly chunkTokens: number;
  readonly decodes: number;
  readonly longShare: number;
  readonly largestContext: number;
  readonly pastTokens: number;
}

export class ProfileSkew {
  readonly #alpha = new Map<string, number>();
  readonly #axes: readonly Axis[];

  /** @throws EmaError E_TRACE */
  constructor(source: ProfileText) {
    const chunks = new Set<number>();
    for (const [line, cells] of rowsOf(source, COLUMNS)) {
      const [chunk, alpha] = [Number(cells[0]), Number(cells[5])];
      if (!(chunk >= 0) || cells[5] === "" || !Number.isFinite(alpha)) {
        const where = `${source.file}:${line}`;
        throw new EmaError("E_TRACE", `${where}: pc and alpha have to be numbers`);
      }
      chunks.add(chunk);
      this.#alpha.set(cells.slice(0, 5).join(), alpha);
    }
    const points = [...chunks].toSorted((one, other) => one - other);
    const chunkAxis = { labels: points.map(String), points };
    this.#axes = [chunkAxis, DECODES, LONG_SHARE, LARGEST_CONTEXT, PAST];
  }

  alpha(point: SkewPoint): number {
    const values = [
      point.chunkTokens,
      point.decodes,
      point.longShare,
      point.largestContext,
      point.chunkTokens === 0 ? 0 : point.pastTokens,
    ];
    return this.#interpolate(values, []);
  }

  #interpolate(values: readonly number[], places: readonly number[]): number {
    const axis = this.#axes[places.length];
    if (axis === undefined) return this.#bucket(places);
    const { index, share } = locate(axis, values[places.length]!);
    const low = this.#interpolate(values, [...places, index]);
    if (share === 0) return low;
    return low + (this.#interpolate(values, [...places, index + 1]) - low) * share;
  }

  /** A bucket nobody measured takes the value of the nearest share, then the nearest batch. */
  #bucket(places: readonly number[]): number {
    for (const decodes of byDistance(places[1]!, DECODES.labels.length)) {
      for (const share of byDistance(places[2]!, LONG_SHARE.labels.length)) {
        const at = [places[0]!, decodes, share, places[3]!, places[4]!];
        const key = at.map((place, axis) => this.#axes[axis]!.labels[place]!).join();
        const alpha = this.#alpha.get(key);
        if (alpha !== undefined) return alpha;
      }
    }
    return 0;
  }
}

function locate(axis: Axis, value: number): { index: number; share: number } {
  const { points, isLogarithmic = false } = axis;
  const last = points.length - 1;
  if (value <= points[0]!) return { index: 0, share: 0 };
  if (value >= points[last]!) return { index: last, share: 0 };
  let index = 0;
  while (points[index + 1]! <= value) index++;
  const scale = (x: number): number => (isLogarithmic ? Math.log(x) : x);
  const low = scale(points[index]!);
  return { index, share: (scale(value) - low) / (scale(points[index + 1]!) - low) };
}

/** 0 .. count - 1, nearest to `from` first. */
function byDistance(from: number, count: number): number[] {
  const all = Array.from({ length: count }, (_, index) => index);
  return all.sort((one, other) => Math.abs(one - from) - Math.abs(other - from));
}
