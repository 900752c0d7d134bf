/**
 * Tells the pool how fast an engine's steps read each lender, so that others see what is left.
 *
 * Fed by the engine at each step's end, asked to report by it a few times a second between steps.
 * It knows bytes and times, not loans: the pool forgets what was reported when the last slice of a
 * lender goes home.
 */

import { engineId, NS_PER_SECOND } from "../base/index.ts";
import type { Arena } from "../kvcache/index.ts";
import type { Pool } from "../pool/index.ts";

/** Long enough for a mean over steps with prompts and without. */
const PERIOD_NS = NS_PER_SECOND / 4;

export class ReadReports {
  /** (engines) bytes read since the last report, and the rate that was told then. */
  readonly #bytes: Float64Array;
  readonly #told: Float64Array;
  /** Nothing was ever reported: the first period has no length, and no rate. */
  #sinceNs = -Infinity;

  constructor(engineCount: number) {
    this.#bytes = new Float64Array(engineCount);
    this.#told = new Float64Array(engineCount);
  }

  /** @param readBytes (sources) what a step read. */
  observe(readBytes: Float64Array): void {
    for (let lender = 0; lender < this.#bytes.length; lender++) {
      this.#bytes[lender]! += readBytes[lender + 1]!;
    }
  }

  report(arena: Arena, pool: Pool, nowNs: number): void {
    const elapsedNs = nowNs - this.#sinceNs;
    if (elapsedNs < PERIOD_NS) return;
    this.#sinceNs = nowNs;
    const { engine } = arena;
    for (let other = 0; other < this.#bytes.length; other++) {
      const bytesPerSecond = (this.#bytes[other]! * NS_PER_SECOND) / elapsedNs;
      if (bytesPerSecond === this.#told[other]) continue;
      this.#told[other] = bytesPerSecond;
      pool.apply({ type: "ReportReads", engine, lender: engineId(other), bytesPerSecond }, nowNs);
    }
    this.#bytes.fill(0);
  }
}
