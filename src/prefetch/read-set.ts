/**
 * What a step reads that is not local, kept up to date access by access.
 *
 * Filled by whoever knows which borrowed slices the running batch reads (keys are its own dense
 * integers); read by the access mode and the timeline, which want sums by lender. Every layer
 * reads the same blocks, so everything here is of ONE layer. It does not know what a slice or a
 * sequence is.
 *
 * Each access is staged or direct. Accesses of one lender and one kind are chained by the power of
 * two of their run's length, so that `rebalance` finds long runs to stage (few copies a byte) and
 * short ones to read in place, without looking at what stays:
 *
 *     chain (kind, source, class)   head -> key -> key -> ...      class = floor(log2(bytes / run))
 *     mask  (kind, source)          one bit a class that has a chain
 *
 * Invariants: each key is in exactly one chain; sums are exact integers; a change costs O(1), a
 * rebalance what it moves.
 */

import { assert } from "../base/index.ts";

const NONE = -1;
const ABSENT = -1;
const STAGED = 0;
const DIRECT = 1;
/** Classes 0 to 31: runs below 4 GiB a layer. */
const CLASS_COUNT = 32;

type Kind = typeof STAGED | typeof DIRECT;

export class ReadSet {
  /** (sourceCount) sums by lender; the caller only reads them. */
  readonly stagedBytes: Float64Array;
  readonly stagedRuns: Float64Array;
  readonly directBytes: Float64Array;
  readonly directRuns: Float64Array;
  readonly #sourceCount: number;
  /** By key: source (or ABSENT), kind, runs, bytes, class, neighbours in the chain. */
  #source: Int32Array;
  #kind: Uint8Array;
  #runs: Float64Array;
  #bytes: Float64Array;
  #class: Uint8Array;
  #next: Int32Array;
  #previous: Int32Array;
  /** ((kind * sourceCount + source) * CLASS_COUNT + class) first key of a chain, or NONE. */
  readonly #head: Int32Array;
  /** (kind * sourceCount + source) */
  readonly #classMask: Uint32Array;
  #totalBytes = 0;
  #version = 0;

  /** @param keyCapacity keys expected; grows by doubling beyond it. */
  constructor(sourceCount: number, keyCapacity: number) {
    this.#sourceCount = sourceCount;
    this.stagedBytes = new Float64Array(sourceCount);
    this.stagedRuns = new Float64Array(sourceCount);
    this.directBytes = new Float64Array(sourceCount);
    this.directRuns = new Float64Array(sourceCount);
    this.#head = new Int32Array(2 * sourceCount * CLASS_COUNT).fill(NONE);
    this.#classMask = new Uint32Array(2 * sourceCount);
    const capacity = Math.max(keyCapacity, 1);
    this.#source = new Int32Array(capacity).fill(ABSENT);
    this.#kind = new Uint8Array(capacity);
    this.#runs = new Float64Array(capacity);
    this.#bytes = new Float64Array(capacity);
    this.#class = new Uint8Array(capacity);
    this.#next = new Int32Array(capacity).fill(NONE);
    this.#previous = new Int32Array(capacity).fill(NONE);
  }

  /** Bumped on every change, so that a plan made for a version can be reused while it stands. */
  get version(): number {
    return this.#version;
  }

  /** Bytes a layer, staged and direct, of all sources. */
  totalBytes(): number {
    return this.#totalBytes;
  }

  has(key: number): boolean {
    return key < this.#source.length && this.#source[key]! !== ABSENT;
  }

  /** False also for keys that are absent. */
  isStaged(key: number): boolean {
    return this.has(key) && this.#kind[key] === STAGED;
  }

  /**
   * Adds or replaces one slice's access: `runs` contiguous copies of together `bytesPerLayer`. A
   * new access is staged; a replaced one keeps its kind while its source stays. No bytes: the same
   * as `delete`.
   */
  set(key: number, source: number, runs: number, bytesPerLayer: number): void {
    if (bytesPerLayer === 0) return this.delete(key);
    assert(source >= 0 && source < this.#sourceCount, () => `read set: no source ${source}`);
    assert(Number.isSafeInteger(bytesPerLayer) && bytesPerLayer > 0, "read set: bytes");
    const isRunCount = Number.isSafeInteger(runs) && runs > 0 && runs <= bytesPerLayer;
    assert(isRunCount, () => `read set: ${runs} runs of ${bytesPerLayer} bytes`);
    while (key >= this.#source.length) this.#grow();
    let kind: Kind = STAGED;
    if (this.#source[key] !== ABSENT) {
      const isSameSource = this.#source[key] === source;
      if (isSameSource && this.#bytes[key] === bytesPerLayer && this.#runs[key] === runs) return;
      if (isSameSource) kind = this.#kind[key] as Kind;
      this.#unlink(key);
    }
    this.#source[key] = source;
    this.#runs[key] = runs;
    this.#bytes[key] = bytesPerLayer;
    // The logarithm of two, rounded down; runs of 4 GiB and more share the last class.
    const runBytes = Math.min(bytesPerLayer / runs, 2 ** CLASS_COUNT - 1);
    this.#class[key] = 31 - Math.clz32(runBytes);
    this.#link(key, kind);
    this.#version++;
  }

  /** No-op when absent. */
  delete(key: number): void {
    if (!this.has(key)) return;
    this.#unlink(key);
    this.#source[key] = ABSENT;
    this.#version++;
  }

  /**
   * Moves accesses between staged and direct until each source's staged bytes are near the target:
   * no single move of the access tried would bring them nearer, which is within half of the
   * source's largest access wherever the target can be reached. The longest runs are staged first,
   * the shortest go direct first. Costs the sources plus what moved.
   *
   * @param targetStagedBytes (sourceCount) bytes of one layer.
   * @param isNearest false: only stages more, until the target is reached.
   */
  rebalance(targetStagedBytes: Float64Array, isNearest = true): void {
    for (let source = 0; source < this.#sourceCount; source++) {
      const target = targetStagedBytes[source]!;
      // A large access may overshoot and leave room for a small one on the other side. Each move
      // comes strictly nearer, so this ends.
      let settled: number;
      do {
        settled = this.#version;
        const more = this.stagedBytes[source]! - target;
        if (more < 0) this.#shiftAll(source, DIRECT, target, isNearest);
        else if (more > 0 && isNearest) this.#shiftAll(source, STAGED, target, true);
      } while (this.#version !== settled);
    }
  }

  #shiftAll(source: number, from: Kind, targetBytes: number, isNearest: boolean): void {
    let classes = this.#classMask[from * this.#sourceCount + source]!;
    while (classes !== 0) {
      const runClass = 31 - Math.clz32(from === DIRECT ? classes : classes & -classes);
      this.#shift(source, runClass, from, targetBytes, isNearest);
      classes &= ~(1 << runClass);
    }
  }

  /**
   * Moves accesses from the head of a chain to that of the other kind's, while each brings staged
   * bytes nearer to the target, or until they reach it. Sums are written once.
   */
  #shift(source: number, runClass: number, from: Kind, target: number, isNearest: boolean): void {
    const [columnNext, columnPrevious] = [this.#next, this.#previous];
    const to: Kind = from === STAGED ? DIRECT : STAGED;
    const sign = from === STAGED ? 1 : -1;
    const fromChain = this.#chain(from, source, runClass);
    const toChain = this.#chain(to, source, runClass);
    const staged = this.stagedBytes[source]!;
    let [key, first] = [this.#head[fromChain]!, this.#head[toChain]!];
    let [bytes, runs] = [0, 0];
    while (key !== NONE) {
      const missingBytes = sign * (staged - sign * bytes - target);
      const keyBytes = this.#bytes[key]!;
      if (isNearest ? keyBytes >= 2 * missingBytes : missingBytes <= 0) break;
      const next = columnNext[key]!;
      this.#kind[key] = to;
      columnNext[key] = first;
      columnPrevious[key] = NONE;
      if (first !== NONE) columnPrevious[first] = key;
      first = key;
      bytes += keyBytes;
      runs += this.#runs[key]!;
      this.#version++;
      key = next;
    }
    if (bytes === 0) return;
    this.#setHead(fromChain, key);
    this.#setHead(toChain, first);
    if (key !== NONE) columnPrevious[key] = NONE;
    this.stagedBytes[source]! -= sign * bytes;
    this.stagedRuns[source]! -= sign * runs;
    this.directBytes[source]! += sign * bytes;
    this.directRuns[source]! += sign * runs;
  }

  #setHead(chain: number, key: number): void {
    this.#head[chain] = key;
    const mask = Math.floor(chain / CLASS_COUNT);
    const bit = 1 << (chain % CLASS_COUNT);
    if (key === NONE) this.#classMask[mask]! &= ~bit;
    else this.#classMask[mask]! |= bit;
  }

  #chain(kind: Kind, source: number, runClass: number): number {
    return (kind * this.#sourceCount + source) * CLASS_COUNT + runClass;
  }

  #link(key: number, kind: Kind): void {
    const chain = this.#chain(kind, this.#source[key]!, this.#class[key]!);
    const first = this.#head[chain]!;
    this.#kind[key] = kind;
    this.#next[key] = first;
    this.#previous[key] = NONE;
    if (first !== NONE) this.#previous[first] = key;
    this.#setHead(chain, key);
    this.#add(key, 1);
  }

  #unlink(key: number): void {
    this.#add(key, -1);
    const next = this.#next[key]!;
    const previous = this.#previous[key]!;
    if (next !== NONE) this.#previous[next] = previous;
    const kind = this.#kind[key] as Kind;
    const chain = this.#chain(kind, this.#source[key]!, this.#class[key]!);
    if (previous === NONE) this.#setHead(chain, next);
    else this.#next[previous] = next;
  }

  #add(key: number, sign: 1 | -1): void {
    const source = this.#source[key]!;
    const isStaged = this.#kind[key] === STAGED;
    const bytes = isStaged ? this.stagedBytes : this.directBytes;
    const runs = isStaged ? this.stagedRuns : this.directRuns;
    const keyBytes = sign * this.#bytes[key]!;
    bytes[source]! += keyBytes;
    runs[source]! += sign * this.#runs[key]!;
    this.#totalBytes += keyBytes;
  }

  #grow(): void {
    const capacity = this.#source.length * 2;
    const wider = <T extends Int32Array | Uint8Array | Float64Array>(from: T, to: T): T =>
      (to.set(from), to);
    this.#source = wider(this.#source, new Int32Array(capacity).fill(ABSENT));
    this.#kind = wider(this.#kind, new Uint8Array(capacity));
    this.#runs = wider(this.#runs, new Float64Array(capacity));
    this.#bytes = wider(this.#bytes, new Float64Array(capacity));
    this.#class = wider(this.#class, new Uint8Array(capacity));
    this.#next = wider(this.#next, new Int32Array(capacity).fill(NONE));
    this.#previous = wider(this.#previous, new Int32Array(capacity).fill(NONE));
  }

  /** Recounts everything. @throws AssertionFailure where a sum or a chain is wrong. */
  check(): void {
    const sums = new Float64Array(4 * this.#sourceCount);
    let present = 0;
    for (let key = 0; key < this.#source.length; key++) {
      const source = this.#source[key]!;
      if (source === ABSENT) continue;
      present++;
      const row = (2 * this.#kind[key]! * this.#sourceCount) + source;
      sums[row] = sums[row]! + this.#bytes[key]!;
      sums[row + this.#sourceCount] = sums[row + this.#sourceCount]! + this.#runs[key]!;
    }
    const kept = [this.stagedBytes, this.stagedRuns, this.directBytes, this.directRuns];
    let totalBytes = 0;
    for (let source = 0; source < this.#sourceCount; source++) {
      kept.forEach((sum, kind) => {
        const counted = sums[kind * this.#sourceCount + source]!;
        assert(sum[source] === counted, () => `read set: ${sum[source]} kept, ${counted} counted`);
      });
      totalBytes += this.stagedBytes[source]! + this.directBytes[source]!;
    }
    assert(totalBytes === this.#totalBytes, "read set: the total is not the sum of its sources");
    assert(this.#countChained() === present, "read set: an access is in no chain, or in two");
  }

  #countChained(): number {
    let chained = 0;
    for (let chain = 0; chain < this.#head.length; chain++) {
      const group = Math.floor(chain / CLASS_COUNT);
      const isMarked = (this.#classMask[group]! & (1 << chain % CLASS_COUNT)) !== 0;
      assert(isMarked === (this.#head[chain] !== NONE), "read set: mask and chain differ");
      let previous = NONE;
      for (let key = this.#head[chain]!; key !== NONE; key = this.#next[key]!) {
        const source = this.#source[key]!;
        const home = this.#chain(this.#kind[key] as Kind, source, this.#class[key]!);
        assert(home === chain, () => `read set: key ${key} is in the chain of others`);
        assert(this.#previous[key] === previous, () => `read set: key ${key} looks back wrongly`);
        previous = key;
        chained++;
      }
    }
    return chained;
  }
}
