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
    assert(
      Number.isSafeInteger(runs) && runs > 0 && runs <= bytesPerLayer,
      () => `read set: ${runs} runs of ${bytesPerLayer} bytes`,
    );
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
    this.#class[key] = Math.min(CLASS_COUNT - 1, Math.floor(Math.log2(bytesPerLayer / runs)));
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
   */
  rebalance(targetStagedBytes: Float64Array): void {
    for (let source = 0; source < this.#sourceCount; source++) {
      const targetBytes = targetStagedBytes[source]!;
      // A large access may overshoot and leave room for a small one on the other side. Each move
      // comes strictly nearer, so this ends.
      let settled: number;
      do {
        settled = this.#version;
        if (this.stagedBytes[source]! < targetBytes) this.#stageMore(source, targetBytes);
        else if (this.stagedBytes[source]! > targetBytes) this.#stageLess(source, targetBytes);
      } while (this.#version !== settled);
    }
  }

  #stageMore(source: number, targetBytes: number): void {
    let classes = this.#classMask[DIRECT * this.#sourceCount + source]!;
    while (classes !== 0) {
      const longest = 31 - Math.clz32(classes);
      const key = this.#head[this.#chain(DIRECT, source, longest)]!;
      const missingBytes = targetBytes - this.stagedBytes[source]!;
      if (key === NONE || this.#bytes[key]! >= 2 * missingBytes) {
        classes &= ~(1 << longest);
        continue;
      }
      this.#unlink(key);
      this.#link(key, STAGED);
      this.#version++;
    }
  }

  #stageLess(source: number, targetBytes: number): void {
    let classes = this.#classMask[STAGED * this.#sourceCount + source]!;
    while (classes !== 0) {
      const shortest = 31 - Math.clz32(classes & -classes);
      const key = this.#head[this.#chain(STAGED, source, shortest)]!;
      const excessBytes = this.stagedBytes[source]! - targetBytes;
      if (key === NONE || this.#bytes[key]! >= 2 * excessBytes) {
        classes &= ~(1 << shortest);
        continue;
      }
      this.#unlink(key);
      this.#link(key, DIRECT);
      this.#version++;
    }
  }

  #chain(kind: Kind, source: number, runClass: number): number {
    return (kind * this.#sourceCount + source) * CLASS_COUNT + runClass;
  }

  #link(key: number, kind: Kind): void {
    const source = this.#source[key]!;
    const runClass = this.#class[key]!;
    const chain = this.#chain(kind, source, runClass);
    const first = this.#head[chain]!;
    this.#kind[key] = kind;
    this.#next[key] = first;
    this.#previous[key] = NONE;
    if (first !== NONE) this.#previous[first] = key;
    this.#head[chain] = key;
    const masks = this.#classMask;
    const maskIndex = kind * this.#sourceCount + source;
    masks[maskIndex] = masks[maskIndex]! | (1 << runClass);
    this.#add(key, 1);
  }

  #unlink(key: number): void {
    this.#add(key, -1);
    const kind = this.#kind[key] as Kind;
    const source = this.#source[key]!;
    const runClass = this.#class[key]!;
    const next = this.#next[key]!;
    const previous = this.#previous[key]!;
    if (next !== NONE) this.#previous[next] = previous;
    if (previous !== NONE) {
      this.#next[previous] = next;
      return;
    }
    this.#head[this.#chain(kind, source, runClass)] = next;
    if (next !== NONE) return;
    const maskIndex = kind * this.#sourceCount + source;
    this.#classMask[maskIndex] = this.#classMask[maskIndex]! & ~(1 << runClass);
  }

  #add(key: number, sign: 1 | -1): void {
    const source = this.#source[key]!;
    const isStaged = this.#kind[key] === STAGED;
    const bytes = isStaged ? this.stagedBytes : this.directBytes;
    const runs = isStaged ? this.stagedRuns : this.directRuns;
    bytes[source] = bytes[source]! + sign * this.#bytes[key]!;
    runs[source] = runs[source]! + sign * this.#runs[key]!;
    this.#totalBytes += sign * this.#bytes[key]!;
  }

  #grow(): void {
    const capacity = this.#source.length * 2;
    const wider = <T extends Int32Array | Uint8Array | Float64Array>(from: T, to: T): T => {
      to.set(from);
      return to;
    };
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
