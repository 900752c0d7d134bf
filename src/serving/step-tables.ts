/**
 * What a step computes and where its KV lies, as plain data that a thread can be given.
 *
 * Built from the engine's tables when a step is submitted, read by StepExecution wherever it runs.
 * It knows addresses, ids and rows; no lease, no deadline.
 *
 *     sequence s:  tokens firstToken[s] .. firstToken[s + 1] of the step
 *                  blocks firstBlock[s] .. firstBlock[s + 1], in the order of its positions
 *
 * A block is read where it lies, or in unit `stagedUnit` of its layer group's half of the ring.
 */

import { assert } from "../base/index.ts";
import type { CopyPiece } from "../device/index.ts";
import type { StepWork } from "../engine/index.ts";
import { LOCAL_SOURCE } from "../kvcache/index.ts";
import { addPiece, type KvGeometry } from "./kv-geometry.ts";
import type { TokenStore } from "./token-store.ts";

/** How one sequence's next token is chosen. */
export interface SampleOrder {
  readonly temperature: number;
  readonly topP: number;
  readonly seed: number;
  /** Of the token that is chosen, from 0 at the begin of the prompt. */
  readonly position: number;
  /** null: no log probabilities. */
  readonly topLogprobs: number | null;
}

export interface StepTables {
  /** (sequences) rows of the scheduler, and the requests they belong to. */
  readonly rows: Int32Array;
  readonly requests: Int32Array;
  /** (sequences) KV tokens before this step's. */
  readonly pastTokens: Int32Array;
  /** (sequences + 1) */
  readonly firstToken: Int32Array;
  /** (tokens) */
  readonly ids: Int32Array;
  /** (sequences) null: its last token is not in this step. */
  readonly samples: readonly (SampleOrder | null)[];
  /** (sequences + 1) */
  readonly firstBlock: Int32Array;
  /** (blocks) slots, and the address of each one's slice. */
  readonly handles: Int32Array;
  readonly sliceAddress: Float64Array;
  /** (blocks) unit of the ring into which it is staged, or -1. */
  readonly stagedUnit: Int32Array;
  /** Blocks that do not lie on the engine's own device. */
  readonly remoteBlocks: number;
}

/** Which unit of the ring a slot is staged into; -1 reads it in place. */
export type StagedUnits = (handle: number) => number;

export function buildStepTables(
  work: StepWork,
  geometry: KvGeometry,
  tokens: TokenStore,
  unitOf: StagedUnits,
): StepTables {
  const { batch, kv, sequences } = work;
  const { blockTokens } = geometry.layout;
  const entries: number[] = [];
  for (let index = 0; index < batch.count; index++) {
    if (batch.rows[index]! >= 0) entries.push(index);
  }
  const count = entries.length;
  const firstToken = new Int32Array(count + 1);
  const firstBlock = new Int32Array(count + 1);
  entries.forEach((index, sequence) => {
    const end = batch.pastTokens[index]! + batch.tokens[index]!;
    firstToken[sequence + 1] = firstToken[sequence]! + batch.tokens[index]!;
    firstBlock[sequence + 1] = firstBlock[sequence]! + Math.ceil(end / blockTokens);
  });
  const tables = {
    rows: Int32Array.from(entries, (index) => batch.rows[index]!),
    requests: Int32Array.from(entries, (index) => sequences.request[batch.rows[index]!]!),
    pastTokens: Int32Array.from(entries, (index) => batch.pastTokens[index]!),
    firstToken,
    ids: new Int32Array(firstToken[count]!),
    samples: entries.map((index) => {
      const request = sequences.request[batch.rows[index]!]!;
      const position = batch.pastTokens[index]! + batch.tokens[index]!;
      return batch.isSampled(index) ? tokens.sampleOrder(request, position) : null;
    }),
    firstBlock,
    handles: new Int32Array(firstBlock[count]!),
    sliceAddress: new Float64Array(firstBlock[count]!),
    stagedUnit: new Int32Array(firstBlock[count]!).fill(-1),
  };
  let remoteBlocks = 0;
  entries.forEach((index, sequence) => {
    const ids = tables.ids.subarray(firstToken[sequence]!, firstToken[sequence + 1]!);
    tokens.copyIds(tables.requests[sequence]!, batch.pastTokens[index]!, ids);
    for (let at = firstBlock[sequence]!; at < firstBlock[sequence + 1]!; at++) {
      const handle = kv.handleOf(batch.rows[index]!, at - firstBlock[sequence]!);
      const row = kv.rowOf(handle);
      tables.handles[at] = handle;
      tables.sliceAddress[at] = geometry.rowAddress[row]!;
      assert(tables.sliceAddress[at]! > 0, () => `step tables: slice ${row} lies nowhere`);
      if (kv.slices.source[row] === LOCAL_SOURCE) continue;
      remoteBlocks++;
      assert(work.readSet.has(row), () => `step tables: slice ${row} is read, and not planned`);
      if (work.readSet.isStaged(row)) tables.stagedUnit[at] = unitOf(handle);
    }
  });
  return { ...tables, remoteBlocks };
}

/** Slots that the plan stages, each once, in the order of the batch. */
export function stagedHandles({ batch, kv, readSet }: StepWork): number[] {
  const handles: number[] = [];
  for (let index = 0; index < batch.count; index++) {
    const row = batch.rows[index]!;
    if (row < 0 || kv.blockCount(row) === kv.blocksAt(row, LOCAL_SOURCE)) continue;
    const end = batch.pastTokens[index]! + batch.tokens[index]!;
    const blocks = Math.ceil(end / kv.layout.blockTokens);
    for (let block = 0; block < blocks; block++) {
      const handle = kv.handleOf(row, block);
      if (readSet.isStaged(kv.rowOf(handle))) handles.push(handle);
    }
  }
  return handles;
}

/** Copies that bring a group's staged blocks into their units, in as few pieces as may be. */
export function stagedPieces(
  tables: StepTables,
  geometry: KvGeometry,
  group: number,
  unitAddress: (unit: number) => number,
): CopyPiece[] {
  const pieces: CopyPiece[] = [];
  const bytes = geometry.groupBlockBytes(group);
  tables.stagedUnit.forEach((unit, block) => {
    if (unit < 0) return;
    const source = geometry.blockAddress(tables.handles[block]!, group);
    addPiece(pieces, source, unitAddress(unit), bytes);
  });
  return pieces;
}
