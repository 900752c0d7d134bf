/**
 * Merges neighbouring symbols, best pair first, until no pair merges: the loop of byte-pair
 * encoding and of SentencePiece's model of the same name.
 *
 * Used by both tokenizers, which say what a pair is worth. Among equals the leftmost is merged
 * first. Candidates wait in a heap and are dropped when a neighbour has changed since, so that a
 * text of n symbols costs n log n; a scan a merge would cost n squared, and prompts are long.
 */

/** What a pair becomes, and how early: least rank first. */
export interface Merge<Symbol> {
  readonly rank: number;
  readonly merged: Symbol;
}

interface Candidate<Symbol> extends Merge<Symbol> {
  readonly at: number;
  readonly left: Symbol;
  readonly right: Symbol;
}

/** @param mergeOf what the pair becomes, or null; called with the same pair it says the same */
export function mergeSymbols<Symbol>(
  symbols: readonly Symbol[],
  mergeOf: (left: Symbol, right: Symbol) => Merge<Symbol> | null,
): Symbol[] {
  const count = symbols.length;
  const current: (Symbol | null)[] = [...symbols];
  const next = Int32Array.from({ length: count }, (_, at) => at + 1);
  const previous = Int32Array.from({ length: count }, (_, at) => at - 1);
  const heap: Candidate<Symbol>[] = [];
  const offer = (at: number): void => {
    const left = at < 0 ? null : current[at]!;
    const right = at < 0 || next[at]! >= count ? null : current[next[at]!]!;
    if (left === null || right === null) return;
    const merge = mergeOf(left, right);
    if (merge !== null) push(heap, { ...merge, at, left, right });
  };
  for (let at = 0; at + 1 < count; at++) offer(at);
  for (let best = pop(heap); best !== null; best = pop(heap)) {
    const { at, left, right, merged } = best;
    const other = next[at]!;
    if (current[at] !== left || other >= count || current[other] !== right) continue;
    current[at] = merged;
    current[other] = null;
    next[at] = next[other]!;
    if (next[at]! < count) previous[next[at]!] = at;
    offer(previous[at]!);
    offer(at);
  }
  return current.filter((symbol) => symbol !== null);
}

function isBefore<Symbol>(a: Candidate<Symbol>, b: Candidate<Symbol>): boolean {
  return a.rank < b.rank || (a.rank === b.rank && a.at < b.at);
}

function push<Symbol>(heap: Candidate<Symbol>[], entry: Candidate<Symbol>): void {
  let hole = heap.push(entry) - 1;
  while (hole > 0) {
    const parent = (hole - 1) >> 1;
    if (!isBefore(entry, heap[parent]!)) break;
    heap[hole] = heap[parent]!;
    hole = parent;
  }
  heap[hole] = entry;
}

function pop<Symbol>(heap: Candidate<Symbol>[]): Candidate<Symbol> | null {
  const best = heap[0] ?? null;
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return best;
  let hole = 0;
  for (let child = 1; child < heap.length; child = 2 * hole + 1) {
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child++;
    if (!isBefore(heap[child]!, last)) break;
    heap[hole] = heap[child]!;
    hole = child;
  }
  heap[hole] = last;
  return best;
}
