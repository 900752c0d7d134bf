/**
 * Drives the engines of one server and the pool between them, at the times it is given.
 *
 * Used by servers in real and in virtual time: the one asks `run` whenever something may be due and
 * sleeps until `nextDueNs`, the other jumps there. It is the loop of docs/ARCHITECTURE.md: who is
 * due ticks, then everybody with mail. It holds no policy and no clock.
 */

import { assert, engineId } from "../base/index.ts";
import type { Pool } from "../pool/index.ts";
import type { ServedEngine } from "./served-engine.ts";

/** More ticks at one instant than any exchange of events takes. */
const TICKS_AT_ONCE_MAX = 10_000;

export class ServerLoop {
  readonly pool: Pool;
  readonly engines: readonly ServedEngine[];
  readonly #dueNs: Float64Array;
  readonly #isGone: Uint8Array;

  constructor(engines: readonly ServedEngine[], pool: Pool) {
    this.engines = engines;
    this.pool = pool;
    this.#dueNs = new Float64Array(engines.length);
    this.#isGone = new Uint8Array(engines.length);
  }

  isGone(index: number): boolean {
    return this.#isGone[index] === 1;
  }

  /** Something from outside has happened to an engine: it ticks at the next `run`. */
  touch(index: number): void {
    if (this.#isGone[index] === 0) this.#dueNs[index] = 0;
  }

  touchAll(): void {
    for (let index = 0; index < this.engines.length; index++) this.touch(index);
  }

  /** Ticks whoever is due by now until nobody is. */
  run(nowNs: number): void {
    for (let ticks = 0; ; ticks++) {
      assert(ticks < TICKS_AT_ONCE_MAX, () => `server loop: livelock at ${nowNs}`);
      const index = this.#first();
      if (index < 0 || this.#dueNs[index]! > nowNs) return;
      this.#tick(index, nowNs);
    }
  }

  nextDueNs(): number {
    const index = this.#first();
    return index < 0 ? Infinity : this.#dueNs[index]!;
  }

  /** The engine is gone, and with it what it lent. */
  remove(index: number, nowNs: number): void {
    assert(!this.isGone(index), () => `server loop: engine ${index} is gone already`);
    this.#isGone[index] = 1;
    this.#dueNs[index] = Infinity;
    this.engines[index]!.lose();
    this.pool.apply({ type: "RemoveEngine", engine: engineId(index) }, nowNs);
    this.#deliverMail(nowNs);
  }

  /** Walks every invariant, for tests. */
  check(): void {
    this.pool.check();
    this.engines.forEach(({ engine }, index) => this.isGone(index) || engine.check());
  }

  #first(): number {
    let first = -1;
    for (let index = 0; index < this.#dueNs.length; index++) {
      if (this.#dueNs[index] === Infinity) continue;
      if (first < 0 || this.#dueNs[index]! < this.#dueNs[first]!) first = index;
    }
    return first;
  }

  #tick(index: number, nowNs: number): void {
    const served = this.engines[index]!;
    served.engine.tick(nowNs);
    served.sweep();
    this.#dueNs[index] = served.engine.nextDueNs();
    this.#deliverMail(nowNs);
  }

  #deliverMail(nowNs: number): void {
    for (let index = 0; index < this.engines.length; index++) {
      if (this.isGone(index) || !this.pool.hasEvents(engineId(index))) continue;
      this.#dueNs[index] = Math.min(this.#dueNs[index]!, nowNs);
    }
  }
}
