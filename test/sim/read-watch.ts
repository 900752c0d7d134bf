/**
 * Watches what one engine reads and copies, beside the engine's own book-keeping.
 *
 * Put between an engine and its runner, copies and pool mailbox. It keeps its own notes of leases
 * (from the events), of copies that have not ended and of rows that a step still reads, and throws
 * when the engine acts against them:
 *
 * - a step reads only rows leased to the engine, under the epoch of the lease;
 * - a step reads no slot that a copy has not filled yet, and plans for every remote row it reads;
 * - a slice keeps its user while a step reads it or a copy writes into it;
 * - only sealed blocks are copied, and never over a slot that the step in flight writes;
 * - a lender's activity is known while anything of it is held.
 */

import { assert, engineId, sliceId } from "../../src/base/index.ts";
import type {
  CopyEngine,
  CopyRequest,
  Engine,
  StepRunner,
  StepTiming,
  StepWork,
} from "../../src/engine/index.ts";
import { LOCAL_SOURCE } from "../../src/kvcache/index.ts";
import type { Pool } from "../../src/pool/index.ts";

/** A row under the epoch at which its use began. */
interface RowUse {
  readonly epoch: number;
  untilNs: number;
}

interface PendingCopy {
  readonly targetRow: number;
  readonly epoch: number;
  readonly targetHandles: Int32Array;
}

export class ReadWatch {
  interrupts = 0;
  /** When the layer group ends that was in flight at the last interrupt. */
  groupEndNs = 0;
  /** Steps that ended having read something remote. */
  remoteSteps = 0;
  readonly moves = new Map<string, number>();
  readonly #index: number;
  readonly #pool: Pool;
  readonly #engineOf: () => Engine;
  /** Rows leased to the engine, by epoch, as the events said. */
  readonly #granted = new Map<number, number>();
  readonly #reading = new Map<number, RowUse>();
  readonly #copies = new Map<number, PendingCopy>();
  readonly #unarrived = new Set<number>();
  /** Slots that the step in flight fills, and until when. */
  readonly #writing = new Map<number, number>();

  constructor(index: number, pool: Pool, engineOf: () => Engine) {
    this.#index = index;
    this.#pool = pool;
    this.#engineOf = engineOf;
  }

  granted(slices: readonly number[], epochs: readonly number[]): void {
    slices.forEach((slice, index) => this.#granted.set(slice, epochs[index]!));
  }

  runner(inner: StepRunner): StepRunner {
    return new WatchedRunner(inner, this);
  }

  copies(inner: CopyEngine): CopyEngine {
    return {
      submit: (request, nowNs) => {
        inner.submit(request, nowNs);
        this.#beginCopy(request, nowNs);
      },
      poll: (nowNs) => {
        const id = inner.poll(nowNs);
        if (id >= 0) this.#endCopy(id);
        return id;
      },
      nextDueNs: () => inner.nextDueNs(),
      abort: (id, nowNs) => inner.abort(id, nowNs),
    };
  }

  /** A step, or the rest of one, begins to read what its work names. */
  beginReading(work: StepWork, untilNs: number): void {
    const { kv, scheduler } = this.#engineOf();
    for (let row = 0; row < kv.slices.source.length; row++) {
      if (!work.readSet.has(row)) continue;
      const epoch = this.#leasedEpoch(row);
      const use = this.#reading.get(row);
      assert(use === undefined || use.epoch === epoch, () => `watch: row ${row} changed its epoch`);
      this.#reading.set(row, { epoch, untilNs });
    }
    const { batch } = scheduler;
    for (let index = 0; index < batch.count; index++) {
      const sequence = batch.rows[index]!;
      if (sequence < 0) continue;
      this.#checkBlocks(sequence, work);
      const firstBlock = Math.floor(batch.pastTokens[index]! / kv.layout.blockTokens);
      for (let block = firstBlock; block < kv.blockCount(sequence); block++) {
        this.#writing.set(kv.handleOf(sequence, block), untilNs);
      }
    }
  }

  /** What has been read so far is read until the group in flight ends. */
  pause(groupEndNs: number): void {
    this.interrupts++;
    this.groupEndNs = groupEndNs;
    for (const use of this.#reading.values()) use.untilNs = Math.min(use.untilNs, groupEndNs);
    for (const [slot, untilNs] of this.#writing) {
      this.#writing.set(slot, Math.min(untilNs, groupEndNs));
    }
  }

  /** Called before tokens are given out: what was read was not somebody else's by then. */
  endReading(): void {
    const { kv, scheduler } = this.#engineOf();
    const { batch } = scheduler;
    if (this.#reading.size > 0) this.remoteSteps++;
    for (let index = 0; index < batch.count; index++) {
      const sequence = batch.rows[index]!;
      if (sequence < 0) continue;
      for (let block = 0; block < kv.blockCount(sequence); block++) {
        const row = kv.rowOf(kv.handleOf(sequence, block));
        const use = this.#reading.get(row);
        if (use === undefined) continue;
        assert(
          this.#pool.epochOf(sliceId(row)) === use.epoch,
          () => `watch: engine ${this.#index} gives out a token read from row ${row}, not its own`,
        );
      }
    }
    this.#reading.clear();
    this.#writing.clear();
  }

  /** After every event. */
  check(nowNs: number, isGone: (engine: number) => boolean): void {
    for (const [row, use] of this.#reading) {
      if (use.untilNs <= nowNs || isGone(this.#pool.ownerOf(sliceId(row)))) continue;
      assert(
        this.#pool.epochOf(sliceId(row)) === use.epoch,
        () => `watch: ${this.#index} reads row ${row} until ${use.untilNs}, gone at ${nowNs}`,
      );
    }
    this.#checkLenders();
    for (const { targetRow, epoch } of this.#copies.values()) {
      if (this.#isHost(targetRow) || isGone(this.#pool.ownerOf(sliceId(targetRow)))) continue;
      assert(
        this.#pool.epochOf(sliceId(targetRow)) === epoch,
        () => `watch: engine ${this.#index} copies into row ${targetRow}, which is not its own`,
      );
    }
  }

  /** What the engine believes of its lenders, once it has read all that it was told. */
  #checkLenders(): void {
    if (this.#pool.hasEvents(engineId(this.#index))) return;
    const { kv, arena } = this.#engineOf();
    for (let lender = 0; lender < arena.isLenderRunning.length; lender++) {
      if (lender === this.#index || kv.slices.heldRows[lender + 1] === 0) continue;
      const isRunning = this.#pool.isRunning(engineId(lender));
      const believed = arena.isLenderRunning[lender] === 1;
      const text = (): string => `watch: engine ${this.#index} is wrong on what ${lender} does`;
      assert(isRunning === believed, text);
    }
  }

  /** @throws AssertionFailure when something is still read or copied after the drain. */
  checkDrained(): void {
    assert(this.#copies.size === 0, () => `watch: ${this.#copies.size} copies are left`);
    assert(this.#reading.size === 0, () => `watch: ${this.#reading.size} rows are read`);
  }

  #checkBlocks(sequence: number, work: StepWork): void {
    const { kv } = this.#engineOf();
    for (let block = 0; block < kv.blockCount(sequence); block++) {
      const handle = kv.handleOf(sequence, block);
      assert(
        !this.#unarrived.has(handle),
        () => `watch: engine ${this.#index} reads slot ${handle} before it arrived`,
      );
      const row = kv.rowOf(handle);
      if (kv.slices.source[row] === LOCAL_SOURCE) continue;
      assert(work.readSet.has(row), () => `watch: row ${row} is read and in no plan`);
    }
  }

  #leasedEpoch(row: number): number {
    assert(!this.#isHost(row), () => `watch: a step reads row ${row} of the host`);
    const lender = this.#pool.ownerOf(sliceId(row));
    const lent = this.#pool.lentTo(lender, engineId(this.#index));
    assert(lent > 0, () => `watch: engine ${this.#index} reads row ${row} of ${lender} unlent`);
    const [epoch, granted] = [this.#pool.epochOf(sliceId(row)), this.#granted.get(row)];
    const text = (): string => `watch: row ${row} is read at epoch ${epoch}, granted ${granted}`;
    assert(granted === epoch, text);
    return epoch;
  }

  #beginCopy(request: CopyRequest, nowNs: number): void {
    const { kv, scheduler } = this.#engineOf();
    const move = kv.moves.get(request.id)!;
    const tokens = scheduler.sequences.computedTokens[move.sequence]!;
    assert(
      (move.firstBlock + move.blockCount) * kv.layout.blockTokens <= tokens,
      () => `watch: move ${request.id} copies a block that is written to`,
    );
    this.moves.set(move.reason, (this.moves.get(move.reason) ?? 0) + 1);
    const { targetRow, targetHandles } = move;
    const epoch = this.#isHost(targetRow) ? 0 : this.#pool.epochOf(sliceId(targetRow));
    this.#copies.set(request.id, { targetRow, epoch, targetHandles });
    for (const handle of targetHandles) {
      const text = (): string => `watch: move ${request.id} goes to slot ${handle}, being written`;
      assert(!(this.#writing.get(handle)! > nowNs), text);
      this.#unarrived.add(handle);
    }
  }

  #endCopy(id: number): void {
    const copy = this.#copies.get(id);
    assert(copy !== undefined, () => `watch: copy ${id} ended twice`);
    this.#copies.delete(id);
    for (const handle of copy.targetHandles) this.#unarrived.delete(handle);
  }

  #isHost(row: number): boolean {
    const { kv, arena } = this.#engineOf();
    return kv.slices.source[row] === arena.hostSource;
  }
}

class WatchedRunner implements StepRunner {
  readonly timing: StepTiming;
  readonly isForeseen = true;
  readonly #inner: StepRunner;
  readonly #watch: ReadWatch;

  constructor(inner: StepRunner, watch: ReadWatch) {
    this.timing = inner.timing;
    this.#inner = inner;
    this.#watch = watch;
  }

  submit(work: StepWork, nowNs: number): void {
    this.#inner.submit(work, nowNs);
    this.#watch.beginReading(work, this.#inner.nextDueNs());
  }

  interrupt(nowNs: number): number {
    const groupEndNs = this.#inner.interrupt(nowNs);
    this.#watch.pause(groupEndNs);
    return groupEndNs;
  }

  resume(work: StepWork): void {
    this.#inner.resume(work);
    this.#watch.beginReading(work, this.#inner.nextDueNs());
  }

  poll(nowNs: number): boolean {
    const hasEnded = this.#inner.poll(nowNs);
    if (hasEnded) this.#watch.endReading();
    return hasEnded;
  }

  rest(nowNs: number): void {
    this.#inner.rest(nowNs);
  }

  nextDueNs(): number {
    return this.#inner.nextDueNs();
  }
}
