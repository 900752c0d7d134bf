/**
 * A naive rotation: readers in a Map, every byte counted anew for every question.
 *
 * Oracle of rotation.test.ts, with the stub of the links and the real parts around the rotation.
 */

import { expect } from "vitest";
import { createKvLayout, KvCache } from "../../src/kvcache/index.ts";
import { ReadSet } from "../../src/prefetch/index.ts";
import { Rotation, Sequences, type LinkPort } from "../../src/scheduler/index.ts";

export const HOST = 3;
/** Two slices a lender and for the host, six of its own; a block is 96 bytes. */
const SOURCE_OF_ROW = [0, 0, 0, 0, 0, 0, 1, 1, 2, 2, HOST, HOST];
const BLOCK_BYTES = 96;
const CAPACITY = 6;
const PORT_SLACK = 1.1;

class StubLink implements LinkPort {
  readonly sourceBytesPerSecond = new Float64Array([0, 0, 0, 0]);
  portBytesPerSecond = 0;

  set(first: number, second: number, port: number): void {
    const rates = [0, first, second, 1].map((blocks) => blocks * BLOCK_BYTES * 1e9);
    this.sourceBytesPerSecond.set(rates);
    this.portBytesPerSecond = port * BLOCK_BYTES * 1e9;
  }
}

/** Rates are blocks a nanosecond, so that a step of n ns carries n times as many blocks. */
export class Real {
  readonly link = new StubLink();
  readonly sequences = new Sequences(CAPACITY);
  readonly kv: KvCache;
  readonly rotation: Rotation;

  constructor() {
    this.kv = new KvCache({
      layout: createKvLayout(24, 3, 4, 10 * BLOCK_BYTES),
      sourceOfRow: Int16Array.from(SOURCE_OF_ROW),
      sourceCount: 4,
      readSet: new ReadSet(4, 4),
      bridgedBlocksMax: 0,
    });
    SOURCE_OF_ROW.forEach((_, row) => this.kv.slices.admit(row));
    this.link.set(10, 10, 20);
    this.rotation = new Rotation(this.sequences, this.kv, this.link, HOST);
  }

  /** @returns the row, whose blocks lie at the sources in this order; -1 where there is no room. */
  admit(request: number, places: readonly number[], nowNs: number): number {
    const row = this.sequences.admit(request, places.length * 4, 0, 99);
    this.sequences.lastTokenNs[row] = nowNs;
    this.kv.setActive(row, true);
    expect(this.kv.extend(row, places.length * 4)).toBe(true);
    this.kv.seal(row, places.length * 4);
    places.forEach((source, block) => this.move(row, block, source));
    return row;
  }

  move(row: number, block: number, source: number): void {
    const target = this.kv.slices.fullestRow(source);
    const from = this.kv.slices.source[this.kv.rowOf(this.kv.handleOf(row, block))];
    if (source === from || target < 0) return;
    this.kv.completeMove(this.kv.beginMove(row, block, 1, target, "out").id);
  }

  finish(row: number): void {
    this.rotation.forget(row);
    this.kv.release(row);
    this.sequences.remove(row);
  }
}

interface Reader {
  skips: number;
  isParked: boolean;
}

/** By row, oldest first. */
export class Model {
  readonly readers = new Map<number, Reader>();
  rotations = 0;
  parkings = 0;
  request = 0;
  nowNs = 0;

  /** Blocks that cross a link: by lender, and all. */
  load(real: Real, rows: readonly number[]): number[] {
    const at = (source: number): number =>
      rows.reduce((sum, row) => sum + real.kv.blocksAt(row, source), 0);
    return [at(1) + at(2) + at(HOST), at(1), at(2), at(HOST)];
  }

  /** Blocks that fit in a step: of all lenders together, and by lender. */
  room({ link }: Real, stepNs: number): number[] {
    const rates = [link.portBytesPerSecond, ...link.sourceBytesPerSecond.slice(1)];
    return rates.map((rate) => (rate / BLOCK_BYTES / 1e9) * stepNs * (1 + 1e-12));
  }

  /** Whether everybody may read, with the tolerance of the port; lenders count if one is slow. */
  fits(real: Real, rows: readonly number[], stepNs: number): boolean {
    const [port, ...lenders] = this.room(real, stepNs);
    const [all, ...blocks] = this.load(real, rows);
    if (all! > port! * PORT_SLACK) return false;
    return blocks.every((count, at) => count <= lenders[at]!);
  }

  /** Whether one more may read, as far as the links that it uses go. */
  fitsWith(real: Real, others: readonly number[], row: number, stepNs: number): boolean {
    const own = this.load(real, [row]);
    const room = this.room(real, stepNs);
    const all = this.load(real, [...others, row]);
    return own.every((blocks, at) => blocks === 0 || all[at]! <= room[at]!);
  }

  select(real: Real, stepNs: number, skipsMax: number): void {
    const rows = [...this.readers.keys()];
    const isParked = (row: number): boolean => this.readers.get(row)!.isParked;
    const reading = rows.filter((row) => !isParked(row));
    for (const row of rows.filter(isParked)) {
      if (real.kv.blocksAt(row, HOST) > 0) continue;
      if (!this.fitsWith(real, reading, row, stepNs)) continue;
      reading.push(row);
      Object.assign(this.readers.get(row)!, { skips: 0, isParked: false });
    }
    const active = rows.filter((row) => !isParked(row));
    if (this.fits(real, active, stepNs)) {
      for (const row of active) this.readers.get(row)!.skips = 0;
      return;
    }
    this.leaveOut(real, active, stepNs, skipsMax);
  }

  leaveOut(real: Real, active: readonly number[], stepNs: number, skipsMax: number): void {
    const { lastTokenNs } = real.sequences;
    const isRemote = (row: number): boolean => this.load(real, [row])[0]! > 0;
    const remote = active.filter(isRemote);
    const isAlone = active.every(isRemote);
    remote.sort((a, b) => lastTokenNs[a]! - lastTokenNs[b]!);
    const taken: number[] = [];
    let isForced = false;
    let isStarved = false;
    for (const row of active) if (!isRemote(row)) this.readers.get(row)!.skips = 0;
    for (const row of remote) {
      const reader = this.readers.get(row)!;
      const isReadable = [1, 2, HOST].every(
        (source) =>
          real.kv.blocksAt(row, source) === 0 || real.link.sourceBytesPerSecond[source]! > 0,
      );
      const isTooLarge = isReadable && !this.fitsWith(real, [], row, stepNs);
      const isForcedNow = isTooLarge && !isForced && (isAlone || reader.skips >= skipsMax);
      if (isForcedNow || this.fitsWith(real, taken, row, stepNs)) {
        if (isForcedNow) isForced = true;
        else taken.push(row);
        reader.skips = 0;
        continue;
      }
      reader.skips++;
      this.rotations++;
      if (reader.skips > skipsMax) isStarved = true;
    }
    const youngest = active.filter((row) => this.readers.get(row)!.skips > 0).at(-1);
    if (!isStarved || youngest === undefined) return;
    this.readers.get(youngest)!.isParked = true;
    this.parkings++;
  }

  compare(real: Real): void {
    const { rotation, sequences, kv } = real;
    rotation.check();
    kv.check();
    const found = [...this.readers.keys()].map((row) => ({
      row,
      skips: sequences.skips[row],
      isParked: sequences.isParked[row] === 1,
      isActive: kv.isActive(row),
    }));
    const expected = [...this.readers].map(([row, reader]) => ({
      row,
      ...reader,
      isActive: !reader.isParked && reader.skips === 0,
    }));
    expect(found).toEqual(expected);
    const readers = [...this.readers.values()];
    expect([rotation.skippedCount, rotation.parkedCount]).toEqual([
      readers.filter(({ skips }) => skips > 0).length,
      readers.filter(({ isParked }) => isParked).length,
    ]);
    expect([rotation.rotations, rotation.parkings]).toEqual([this.rotations, this.parkings]);
  }
}
