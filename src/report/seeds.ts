/**
 * Several seeds put together: the mean of each number, and how far that mean can be trusted.
 *
 * Called by compare.ts. It knows nothing of what the numbers mean, but for one rule: a number
 * called `max` is the largest of any seed. The interval is Student's t for the mean of n values.
 *
 * Invariants: a number that some seeds lack (`null`) is the mean of the others, `null` if all lack
 * it; all inputs of one call have one shape, but for records whose keys differ by seed.
 */

import { assert } from "../base/index.ts";

/**
 * Two-sided 95 % quantiles of Student's t for 1 to 30 degrees of freedom, from its standard table.
 */
const T_95 = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145,
  2.131, 2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048,
  2.045, 2.042,
];
const NORMAL_95 = 1.959964;

/** @returns `null` when no value is there. */
export function meanOf(values: readonly (number | null)[]): number | null {
  const present = values.filter((value) => value !== null);
  if (present.length === 0) return null;
  return present.reduce((sum, value) => sum + value, 0) / present.length;
}

/** The 95 % interval of the mean, [low, high]. @returns `null` for fewer than two values. */
export function meanInterval(values: readonly (number | null)[]): [number, number] | null {
  const present = values.filter((value) => value !== null);
  const mean = meanOf(present);
  if (mean === null || present.length < 2) return null;
  const squares = present.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  const standardError = Math.sqrt(squares / (present.length - 1) / present.length);
  const half = studentT95(present.length - 1) * standardError;
  return [mean - half, mean + half];
}

export function studentT95(degrees: number): number {
  assert(degrees >= 1, `student t: ${degrees} degrees of freedom`);
  const tabled = T_95[degrees - 1];
  if (tabled !== undefined) return tabled;
  // The first terms of the Cornish-Fisher expansion; 0.0001 off at 30 degrees, less beyond.
  const z = NORMAL_95;
  const first = (z ** 3 + z) / (4 * degrees);
  return z + first + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * degrees ** 2);
}

/** Plain data of numbers, nulls and objects of them. */
type Tree = number | null | { readonly [key: string]: Tree };

/** Merges results of one shape, number by number. @param trees at least one, in order of seeds. */
export function mergeSeeds<T>(trees: readonly T[]): T {
  assert(trees.length > 0, "seeds: nothing to merge");
  return mergeTrees(trees as readonly unknown[] as readonly Tree[], "") as T;
}

function mergeTrees(trees: readonly Tree[], key: string): Tree {
  if (trees.every((tree) => tree === null || typeof tree === "number")) {
    return key === "max" ? largestOf(trees) : meanOf(trees);
  }
  const keys = new Set<string>();
  for (const tree of trees) {
    assert(tree !== null && typeof tree === "object", `seeds: ${key} has no one shape`);
    for (const name of Object.keys(tree)) keys.add(name);
  }
  const merged: Record<string, Tree> = {};
  for (const name of keys) {
    const children = trees.map((tree) => (tree as Record<string, Tree>)[name]);
    merged[name] = mergeTrees(fillMissing(children), name);
  }
  return merged;
}

/** What a seed does not mention (a link without traffic, a rung without use) is zero there. */
function fillMissing(children: readonly (Tree | undefined)[]): Tree[] {
  const shape = children.find((child) => child !== undefined)!;
  const zero = (tree: Tree): Tree =>
    tree === null || typeof tree === "number"
      ? 0
      : Object.fromEntries(Object.entries(tree).map(([name, child]) => [name, zero(child)]));
  return children.map((child) => child ?? (child === null ? null : zero(shape)));
}

function largestOf(values: readonly (number | null)[]): number | null {
  const present = values.filter((value) => value !== null);
  return present.length === 0 ? null : Math.max(...present);
}
