/**
 * A training run on disk: one line of JSON, then parameters and both moments as floats.
 *
 * Called by the trainer every few minutes and when it is resumed. Written beside and renamed, so
 * that a run that is killed while it writes keeps the last one.
 */

import { readFileSync, renameSync, writeFileSync } from "node:fs";

/** What a run needs to go on; the sizes are checked by whoever knows them. */
export interface Checkpoint {
  /** Steps that are done. */
  readonly step: number;
  readonly secondsSpent: number;
  /** Options of the run, to be the same when it goes on. */
  readonly options: Readonly<Record<string, number | string>>;
  readonly vocabulary: {
    readonly tokens: readonly string[];
    readonly merges: readonly (readonly [string, string])[];
    readonly specialCount: number;
  };
  readonly arrays: readonly Float32Array[];
}

export function writeCheckpoint(path: string, checkpoint: Checkpoint): void {
  const { arrays, ...rest } = checkpoint;
  const head = Buffer.from(
    `${JSON.stringify({ ...rest, lengths: arrays.map((a) => a.length) })}\n`,
  );
  const bodies = arrays.map((a) => Buffer.from(a.buffer, a.byteOffset, a.byteLength));
  writeFileSync(`${path}.part`, Buffer.concat([head, ...bodies]));
  renameSync(`${path}.part`, path);
}

export function readCheckpoint(path: string): Checkpoint {
  const bytes = readFileSync(path);
  const end = bytes.indexOf(10);
  const { lengths, ...rest } = JSON.parse(bytes.toString("utf8", 0, end)) as Omit<
    Checkpoint,
    "arrays"
  > & { lengths: number[] };
  let offset = end + 1;
  const arrays = lengths.map((length) => {
    const copy = Uint8Array.from(bytes.subarray(offset, offset + 4 * length));
    offset += 4 * length;
    return new Float32Array(copy.buffer);
  });
  return { ...rest, arrays };
}
