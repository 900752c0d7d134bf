/**
 * Which engines share a line of the table: on servers of more than eight GPUs those with one stem.
 *
 * Called by compare.ts and the table. `lend1`, `lend2`, `lend3` of one model become `lend1..3
 * (3)`; up to eight engines each keeps its own line, which is what people look for first.
 */

export interface EngineGroup {
  readonly label: string;
  /** Indices into the scenario's engines, ascending, at least one. */
  readonly engineIndices: readonly number[];
}

/** More lines than this per system push the verdict off a usual terminal. */
const LINES_MAX = 8;

/** Groups in the order of their first engine. */
export function groupEngines(
  engines: readonly { readonly name: string; readonly model: { readonly name: string } }[],
): EngineGroup[] {
  if (engines.length <= LINES_MAX) {
    return engines.map((engine, index) => ({ label: engine.name, engineIndices: [index] }));
  }
  const byStem = new Map<string, number[]>();
  for (const [index, engine] of engines.entries()) {
    const key = `${engine.name.replace(/\d+$/, "")}\n${engine.model.name}`;
    const members = byStem.get(key);
    if (members === undefined) byStem.set(key, [index]);
    else members.push(index);
  }
  return [...byStem.values()].map((engineIndices) => ({
    label: labelOf(engineIndices.map((index) => engines[index]!.name)),
    engineIndices,
  }));
}

function labelOf(names: readonly string[]): string {
  const first = names[0]!;
  if (names.length === 1) return first;
  const lastNumber = /\d+$/.exec(names.at(-1)!)?.[0] ?? names.at(-1)!;
  return `${first}..${lastNumber} (${names.length})`;
}
