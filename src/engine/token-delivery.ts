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
import type { TokenTimes } from "./token-times.ts";

export class TokenDelivery {
  readonly #kv: KvCache;
  readonly #scheduler: Scheduler;
  readonly #flight: StepFlight;
  readonly #sink: EngineSink;
  readonly #tokenTimes: TokenTimes;

  constructor(
    kv: KvCache,
    scheduler: Scheduler,
    flight: StepFlight,
    sink: EngineSink,
    tokenTimes: TokenTimes,
  ) {
    this.#tokenTimes = tokenTimes;
    this.#kv = kv;
    this.#scheduler = scheduler;
    this.#flight = flight;
    this.#sink = sink;
  }

  /** @returns tokens made. */
  deliver(nowNs: number): number {
    const { batch, sequences } = this.#scheduler;
    const { rows, tokens } = batch;
    const { computedTokens, promptTokens, generatedTokens, outputTokensMax } = sequences;
    const { firstTokenNs, lastTokenNs, request } = sequences;
    const kv = this.#kv;
    const { blockTokens } = kv.layout;
    const sink = this.#sink;
    let made = 0;
    for (let index = 0; index < batch.count; index++) {
      const row = rows[index]!;
      if (row < 0) continue;
      const query = tokens[index]!;
      const computed = computedTokens[row]! + query;
      computedTokens[row] = computed;
      // A single token fills a block or changes nothing there.
      if (query > 1 || computed % blockTokens === 0) kv.seal(row, computed);
      const before = generatedTokens[row]!;
      if (computed < promptTokens[row]! + before) continue;
      generatedTokens[row] = before + 1;
      const gapNs = nowNs - lastTokenNs[row]!;
      lastTokenNs[row] = nowNs;
      made++;
      if (before === 0) firstTokenNs[row] = nowNs;
      const isLast = sink.token(request[row]!, before === 0, gapNs, nowNs);
      if (!isLast && before + 1 < outputTokensMax[row]!) continue;
      const sinceFirstNs = nowNs - firstTokenNs[row]!;
      if (before > 0 && sinceFirstNs >= 0) this.#tokenTimes.observe(sinceFirstNs / before);
      this.#flight.forget(row);
      sink.finished(request[row]!, nowNs);
      this.#scheduler.finish(row);
    }
    for (const leaver of batch.leavers) this.#deliverWaiting(leaver, nowNs);
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
