/**
 * What attention of one layer costs when every sequence has one query token.
 *
 * Built once per GPU and model by tabulated-cost-model.ts. The kernel splits work by sequence and
 * KV head, so a batch of b sequences with h KV heads costs what b * h / 8 sequences with 8 do:
 * models with more KV heads than were measured are read off that way, and other head sizes as
 * contexts of the same bytes. Measured points lie at powers of two of batch and context, hence at
 * powers of two of batch and total context, which is the grid here:
 *
 *        total KV tokens  1  2  4 ... 2^24
 *   sequences   1         .  .  .
 *               2         .  .  .        nanoseconds, linear in between
 *              ...
 *               2048
 *
 * Invariant: rises with sequences and with total context.
 */

import type { CalibrationChoice } from "./calibration/catalogue.ts";
import type { AttentionTables, DecodeTable } from "./calibration/tables.ts";
import type { Gpu } from "./gpu.ts";
import type { ModelShape } from "./model-shape.ts";
import { makeGridRising } from "./monotone.ts";

export const DECODE_ROWS = 12;
export const DECODE_COLUMNS = 25;

/** Weight of grid points whose context the model cannot have: they must not bend the others. */
const UNREACHABLE_WEIGHT = 1e-4;

const MEASURED_HEAD_DIM = 128;
const MEASURED_KV_HEADS_MAX = 8;

/**
 * Without a table: RTX 4090 with vLLM 0.19, LLMServingSim's attention table of Llama-3.1-8B (commit
 * 5daddb2), 8 KV heads: 9.3 us for one sequence, 0.28 us for each further one beside its bytes.
 */
const ROOFLINE_FIXED_NS = 9300;
const ROOFLINE_SEQUENCE_NS = 280;

/**
 * @returns (DECODE_ROWS, DECODE_COLUMNS) nanoseconds: 2^row sequences, 2^column KV tokens in all.
 */
export function buildDecodeGrid(
  gpu: Gpu,
  model: ModelShape,
  choice: CalibrationChoice | null,
): Float64Array {
  const grid = new Float64Array(DECODE_ROWS * DECODE_COLUMNS);
  const weights = new Float64Array(grid.length);
  for (let row = 0; row < DECODE_ROWS; row++) {
    for (let column = 0; column < DECODE_COLUMNS; column++) {
      const sequences = 2 ** row;
      const context = 2 ** column / sequences;
      const index = row * DECODE_COLUMNS + column;
      grid[index] =
        choice === null
          ? rooflineDecodeNs(gpu, model, sequences, context)
          : tableDecodeNs(choice, model, sequences, context);
      const isReachable = context >= 1 && context <= model.contextTokensMax;
      weights[index] = isReachable ? 1 : UNREACHABLE_WEIGHT;
    }
  }
  makeGridRising(grid, weights, DECODE_COLUMNS);
  return grid;
}

/** @returns whether the model's KV heads were measured, or are read off those that were. */
export function hasDecodeTable(choice: CalibrationChoice, model: ModelShape): boolean {
  return (
    model.headDim === MEASURED_HEAD_DIM &&
    tableOf(choice.calibration.attention, model).kvHeads === model.kvHeads
  );
}

/** Before rising is enforced; also what held-out points are compared with. */
export function tableDecodeNs(
  choice: CalibrationChoice,
  model: Pick<ModelShape, "heads" | "kvHeads" | "headDim">,
  sequences: number,
  context: number,
): number {
  const tables = choice.calibration.attention;
  const table = tableOf(tables, model);
  const batch = (sequences * model.kvHeads) / table.kvHeads;
  const measuredContext = (context * model.headDim) / MEASURED_HEAD_DIM;
  const fixedNs = interpolateNs(tables, table, batch, 0);
  const wholeNs = interpolateNs(tables, table, batch, measuredContext);
  return fixedNs + (wholeNs - fixedNs) / choice.bandwidthRatio;
}

function rooflineDecodeNs(
  gpu: Gpu,
  model: ModelShape,
  sequences: number,
  context: number,
): number {
  const bytes = sequences * context * 4 * model.kvHeads * model.headDim;
  const sequencesNs = (ROOFLINE_SEQUENCE_NS * sequences * model.kvHeads) / MEASURED_KV_HEADS_MAX;
  return ROOFLINE_FIXED_NS + sequencesNs + (bytes * 1e9) / gpu.hbmBytesPerSecond;
}

/** The table of the model's own number of KV heads, else that of eight, of the same kind. */
function tableOf(
  tables: AttentionTables,
  model: Pick<ModelShape, "heads" | "kvHeads">,
): DecodeTable {
  const isMultiHead = model.heads === model.kvHeads;
  const ofKind = tables.decode.filter((table) => table.isMultiHead === isMultiHead);
  return (
    ofKind.find((table) => table.kvHeads === model.kvHeads) ??
    ofKind.find((table) => table.kvHeads === MEASURED_KV_HEADS_MAX)!
  );
}

/** Linear in batch; a batch beyond the grid costs in proportion. */
function interpolateNs(
  tables: AttentionTables,
  table: DecodeTable,
  batch: number,
  context: number,
): number {
  const last = table.batch.length - 1;
  const largest = table.batch[last]!;
  if (batch >= largest) {
    return (rowNs(tables, table, last, context) * batch) / largest;
  }
  let row = 0;
  while (table.batch[row + 1]! <= batch) row++;
  const below = table.batch[row]!;
  const share = Math.max(0, (batch - below) / (table.batch[row + 1]! - below));
  const low = rowNs(tables, table, row, context);
  return low + (rowNs(tables, table, row + 1, context) - low) * share;
}

/** Linear in context; beyond what was measured each byte costs what it does when streaming. */
function rowNs(
  tables: AttentionTables,
  table: DecodeTable,
  row: number,
  context: number,
): number {
  const columns = table.context.length;
  const us = (column: number): number => table.us[row * columns + column]!;
  let last = columns - 1;
  while (last > 0 && us(last) === 0) last--;
  if (context <= table.context[0]!) return us(0) * 1000;
  if (context >= table.context[last]!) {
    const tokens = (context - table.context[last]!) * table.batch[row]!;
    const bytes = tokens * 4 * table.kvHeads * MEASURED_HEAD_DIM;
    return us(last) * 1000 + bytes * tables.decodeNsPerByte;
  }
  let column = 0;
  while (table.context[column + 1]! <= context) column++;
  const below = table.context[column]!;
  const share = (context - below) / (table.context[column + 1]! - below);
  return (us(column) + (us(column + 1) - us(column)) * share) * 1000;
}
