/**
 * Watches that recalls are answered: a lender gets back what it asked for, in finite time.
 *
 * Listens on the pool's commands and events beside it. A lost recall leaves no trace in any sum;
 * what it leaves is a lender that waits while its slices lie elsewhere.
 */

import { assert, engineId } from "../../src/base/index.ts";
import type { Pool } from "../../src/pool/index.ts";

/** Deadline of a refill, a long step over a slow link and the copies together. */
const ANSWER_NS = 3e9;

export class RecallWatch {
  /** The longest time anybody waited for the next slice. */
  longestNs = 0;
  readonly #pool: Pool;
  /** (engines) slices asked for and not yet back, and since when nothing came. */
  readonly #owed: Float64Array;
  readonly #sinceNs: Float64Array;

  constructor(pool: Pool, engineCount: number) {
    this.#pool = pool;
    this.#owed = new Float64Array(engineCount);
    this.#sinceNs = new Float64Array(engineCount);
    const apply = pool.apply.bind(pool);
    pool.apply = (command, nowNs) => {
      const before = this.#lentCounts();
      apply(command, nowNs);
      if (command.type === "RecallSlices") this.#asked(command.engine, command.count, nowNs);
      this.#lentCounts().forEach((lent, engine) => {
        const back = before[engine]! - lent;
        if (back > 0) this.#cameBack(engine, back, nowNs);
      });
    };
  }

  check(nowNs: number): void {
    this.#owed.forEach((owed, engine) => {
      if (owed <= 0) return;
      const waitNs = nowNs - this.#sinceNs[engine]!;
      this.longestNs = Math.max(this.longestNs, waitNs);
      const text = (): string => `recalls: ${engine} waits for ${owed} slices for ${waitNs} ns`;
      assert(waitNs <= ANSWER_NS, text);
    });
  }

  #asked(engine: number, count: number, nowNs: number): void {
    if (this.#owed[engine]! <= 0) this.#sinceNs[engine] = nowNs;
    // Demands for what refills wait for already do not add up.
    const lent = this.#pool.lentSlices(engineId(engine));
    this.#owed[engine] = Math.min(this.#owed[engine]! + count, lent);
  }

  #cameBack(engine: number, count: number, nowNs: number): void {
    this.#owed[engine] = Math.max(0, this.#owed[engine]! - count);
    this.#sinceNs[engine] = nowNs;
  }

  #lentCounts(): number[] {
    return Array.from(this.#owed, (_, engine) => this.#pool.lentSlices(engineId(engine)));
  }
}
