/**
 * Ends a wait in a circle: engines that lend nothing because each waits for the others' memory.
 *
 * Asked by the borrow controller. An engine is stranded when nothing runs in it and the first in
 * its queue is larger than its own memory, which is then of no use to it. Stranded engines have no
 * one who would choose among them, so each gives way after a patience of its own, by its number:
 * the others see what it offers and one of them runs. It decides when; how memory is offered and
 * taken back is the arena's.
 *
 *     WAITING --patience over--> YIELDING --nobody took, or lent for long--> WAITING
 *
 * Invariant: an engine that is not stranded does not yield.
 */

import type { EngineId } from "../base/index.ts";

/** Engine number i waits i + 1 times as long. */
const PATIENCE_NS = 200e6;
/** An offer that nobody takes ends after so long; an arena offers after a second's quiet. */
const OFFERED_NS = 2e9;
/** Whoever took it is asked for it after so long: time for an answer of some hundred tokens. */
const LENT_NS = 10e9;

export class StandOff {
  readonly #patienceNs: number;
  /** When it was stranded, or last took its memory back. */
  #sinceNs = Infinity;
  #isYielding = false;

  constructor(engine: EngineId) {
    this.#patienceNs = (engine + 1) * PATIENCE_NS;
  }

  get isYielding(): boolean {
    return this.#isYielding;
  }

  /** @returns whether the engine gives its memory to others for now. */
  decide(isStranded: boolean, lentSlices: number, nowNs: number): boolean {
    if (!isStranded || this.#sinceNs > nowNs) this.#sinceNs = nowNs;
    const yieldedNs = nowNs - this.#sinceNs - this.#patienceNs;
    const isOver = yieldedNs >= (lentSlices > 0 ? LENT_NS : OFFERED_NS);
    if (isOver) this.#sinceNs = nowNs;
    this.#isYielding = isStranded && yieldedNs >= 0 && !isOver;
    return this.#isYielding;
  }
}
