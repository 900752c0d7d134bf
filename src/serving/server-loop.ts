/**
 * Drives the engines of one server and the pool between them, at the times it is given.
 *
 * Used by servers in real and in virtual time: the one asks `run` whenever something may be due and
 * sleeps until `nextDueNs`, the other jumps there. It is the loop of docs/ARCHITECTURE.md: who is
 * due ticks, then everybody with mail. It holds no policy and no clock.
 *
 *     SERVING --retire--> RETIRED (ticks no more) --remove--> its slices are home, its loans lost
 */

import { assert, EmaError, engineId } from "../base/index.ts";
import type { Pool } from "../pool/index.ts";
import type { ServedEngine } from "./served-engine.ts";

/** More ticks at one instant than any exchange of events takes. */
const TICKS_AT_ONCE_MAX = 10_000;

export class ServerLoop {
  readonly pool: Pool;
  readonly engines: readonly ServedEngine[];
  readonly #dueNs: Float64Array;
  readonly #isGone: Uint8Array;
  readonly #onFault: (index: number, error: EmaError) => void;

  /** @param onFault told of an engine whose tick met a fault from outside; it retires it. */
  constructor(
    engines: readonly ServedEngine[],
    pool: Pool,
    onFault: (index: number, error: EmaError) => void = (_, error) => {
      throw error;
    },
  ) {
    this.engines = engines;
    this.pool = pool;
    this.#onFault = onFault;
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

  /** The engine is gone: it ticks no more, and what was open has failed. */
  retire(index: number): void {
    assert(!this.isGone(index), () => `server loop: engine ${index} is gone already`);
    this.#isGone[index] = 1;
    this.#dueNs[index] = Infinity;
    this.engines[index]!.lose();
  }

  /** What a retired engine lent is lost, and what it borrowed goes home: it writes none of it. */
  remove(index: number, nowNs: number): void {
    assert(this.isGone(index), () => `server loop: engine ${index} has not been retired`);
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
    try {
      served.engine.tick(nowNs);
      served.sweep();
      this.#dueNs[index] = served.engine.nextDueNs();
    } catch (error) {
      if (!(error instanceof EmaError)) throw error;
      this.#onFault(index, error);
    }
    this.#deliverMail(nowNs);
  }

  #deliverMail(nowNs: number): void {
    for (let index = 0; index < this.engines.length; index++) {
      if (this.isGone(index) || !this.pool.hasEvents(engineId(index))) continue;
      this.#dueNs[index] = Math.min(this.#dueNs[index]!, nowNs);
    }
  }
}
