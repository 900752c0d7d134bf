/**
 * Attention of one layer for a mixed batch, interpolated in a measured table of four dimensions.
 *
 * Used by profile-cost-model.ts. The grid is ragged (each chunk has its own pasts and contexts), so
 * it is a tree, and every axis is interpolated linearly inside the branches around it: linearly
 * because kernels add up work, which logarithms would bend. Beyond the last point of an axis the
 * last stretch goes on; below the first one its time holds.
 *
 *     chunk -> decodes -> past of the chunk -> context of each decode -> microseconds
 */

import { assert } from "../base/index.ts";
import { readNumberRows, type ProfileText } from "./profile-tables.ts";

interface Branch {
  readonly keys: number[];
  /** One a key, but on the last axis. */
  readonly branches: Branch[];
  /** One a key on the last axis. */
  readonly us: number[];
}

const COLUMNS = ["prefill_chunk", "n_decode", "kv_prefill", "kv_decode", "time_us"];

export class ProfileAttention {
  readonly #root: Branch = newBranch();

  /** @throws EmaError E_TRACE */
  constructor(source: ProfileText) {
    const rows = readNumberRows(source, COLUMNS).toSorted(byColumns);
    for (const row of rows) this.#insert(row);
  }

  /** Nanoseconds. @param contextTokens KV tokens of each of the decodes. */
  ns(chunkTokens: number, pastTokens: number, decodes: number, contextTokens: number): number {
    if (chunkTokens === 0 && decodes === 0) return 0;
    const us = lookUp(this.#root, [chunkTokens, decodes, pastTokens, contextTokens], 0);
    assert(Number.isFinite(us), () => `profile attention: ${us} us`);
    return Math.max(0, us) * 1000;
  }

  #insert(row: readonly number[]): void {
    let branch = this.#root;
    for (let axis = 0; axis < 3; axis++) {
      if (branch.keys.at(-1) !== row[axis]) {
        branch.keys.push(row[axis]!);
        branch.branches.push(newBranch());
      }
      branch = branch.branches.at(-1)!;
    }
    if (branch.keys.at(-1) === row[3]) return;
    branch.keys.push(row[3]!);
    branch.us.push(row[4]!);
  }
}

function newBranch(): Branch {
  return { keys: [], branches: [], us: [] };
}

function byColumns(one: readonly number[], other: readonly number[]): number {
  for (let axis = 0; axis < 4; axis++) {
    if (one[axis] !== other[axis]) return one[axis]! - other[axis]!;
  }
  return 0;
}

function lookUp(branch: Branch, point: readonly number[], axis: number): number {
  const { keys } = branch;
  const last = keys.length - 1;
  const at = (index: number): number =>
    axis === 3 ? branch.us[index]! : lookUp(branch.branches[index]!, point, axis + 1);
  const value = point[axis]!;
  if (last === 0 || value <= keys[0]!) return at(0);
  let index = 0;
  while (index < last - 1 && keys[index + 1]! <= value) index++;
  const share = (value - keys[index]!) / (keys[index + 1]! - keys[index]!);
  const low = at(index);
  return share === 0 ? low : low + (at(index + 1) - low) * share;
}
