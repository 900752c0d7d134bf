/**
 * Gives out the tokens of a step that has ended, and ends the sequences that have all of theirs.
 *
 * Called by the engine once a step. A request that was preempted after its step had been decided is
 * back in the queue without blocks; its token counts all the same, and may be its last.
 */

import type { KvCache } from "../kvcache/index.ts";
import type { Scheduler } from "../scheduler/index.ts";
import type { EngineSink } from "./ports.ts";
import type { StepFlight } from "./step-flight.ts";

export class TokenDelivery {
  readonly #kv: KvCache;
  readonly #scheduler: Scheduler;
  readonly #flight: StepFlight;
  readonly #sink: EngineSink;

  constructor(kv: KvCache, scheduler: Scheduler, flight: StepFlight, sink: EngineSink) {
    this.#kv = kv;
    this.#scheduler = scheduler;
    this.#flight = flight;
    this.#sink = sink;
  }

  /** @returns tokens made. */
  deliver(nowNs: number): number {
    const { batch, sequences } = this.#scheduler;
    let made = 0;
    for (let index = 0; index < batch.count; index++) {
      const row = batch.rows[index]!;
      if (row < 0) continue;
      const computed = (sequences.computedTokens[row]! += batch.tokens[index]!);
      this.#kv.seal(row, computed);
      if (!sequences.isSampledBy(row, computed)) continue;
      const generated = ++sequences.generatedTokens[row]!;
      const gapNs = nowNs - sequences.lastTokenNs[row]!;
      sequences.lastTokenNs[row] = nowNs;
      made++;
      const isLast = this.#sink.token(sequences.request[row]!, generated === 1, gapNs, nowNs);
      if (!isLast && generated < sequences.outputTokensMax[row]!) continue;
      this.#flight.forget(row);
      this.#sink.finished(sequences.request[row]!, nowNs);
      this.#scheduler.finish(row);
    }
    for (const request of batch.leavers) this.#deliverWaiting(request, nowNs);
    return made + batch.leavers.length;
  }

  #deliverWaiting(request: number, nowNs: number): void {
    const { waiting, predictor } = this.#scheduler;
    const position = waiting.positionOf(request);
    const gapNs = nowNs - waiting.sinceNsAt(position);
    const generated = waiting.addGenerated(position);
    const isLast = this.#sink.token(request, generated === 1, gapNs, nowNs);
    if (!isLast && generated < waiting.outputMaxAt(position)) return;
    waiting.removeAt(position);
    predictor.observe(generated);
    this.#sink.finished(request, nowNs);
  }
}
