/**
 * Writes down what one engine tells while it is simulated: columns by request, gaps, gauges.
 *
 * The engine's sink in the costed world. It computes no statistic; record-run.ts turns it into a
 * RunRecord at the end.
 */

import { assert } from "../base/index.ts";
import type { EngineFailure, EngineNote, EngineSink } from "../engine/index.ts";
import type { RequestTable } from "../workload/index.ts";
import type { Digest } from "./digest.ts";
import type { ByteGauge, FailureReason, GapLog, Window } from "./run-record.ts";

const NOTE_CODES: Readonly<Record<EngineNote, number>> = {
  admitted: 1,
  preempted: 2,
  step: 4,
  interrupted: 8,
};

/** A gauge of bytes integrated over a window. */
class Integral {
  #bytes = 0;
  #sinceNs = 0;
  #sum = 0;
  #maxBytes = 0;

  set(bytes: number, nowNs: number, window: Window): void {
    if (bytes === this.#bytes) return;
    this.#integrate(nowNs, window);
    this.#bytes = bytes;
    this.#maxBytes = Math.max(this.#maxBytes, bytes);
  }

  read(window: Window): ByteGauge {
    this.#integrate(window.endNs, window);
    const spanNs = window.endNs - window.startNs;
    return { meanBytes: spanNs > 0 ? this.#sum / spanNs : 0, maxBytes: this.#maxBytes };
  }

  #integrate(nowNs: number, window: Window): void {
    const fromNs = Math.max(this.#sinceNs, window.startNs);
    const toNs = Math.min(nowNs, window.endNs);
    if (toNs > fromNs) this.#sum += this.#bytes * (toNs - fromNs);
    this.#sinceNs = Math.max(this.#sinceNs, nowNs);
  }
}

export class Recorder implements EngineSink {
  readonly window: Window;
  readonly totalWindow: Window;
  readonly firstTokenNs: Float64Array;
  readonly lastTokenNs: Float64Array;
  readonly failure: (FailureReason | null)[];
  /** (requests) 1 until it has ended in any way. */
  readonly isOpen: Uint8Array;
  readonly borrowed = new Integral();
  readonly lent = new Integral();
  open: number;
  tokens = 0;
  tokensInWindow = 0;
  tokensInTotalWindow = 0;
  runningNs = 0;
  readonly #digest: Digest;
  readonly #engine: number;
  /** When the last token came, and 1 for each window that this is in: a step's tokens share it. */
  #tokenNs = NaN;
  #inWindow = 0;
  #inTotalWindow = 0;
  #gapNs = new Float64Array(1024);
  #gapWeight = new Float64Array(1024);
  #gapCount = 0;

  constructor(table: RequestTable, engine: number, totalWindow: Window, digest: Digest) {
    this.#engine = engine;
    this.#digest = digest;
    this.totalWindow = totalWindow;
    this.window = windowOf(table);
    this.firstTokenNs = new Float64Array(table.count).fill(NaN);
    this.lastTokenNs = new Float64Array(table.count).fill(NaN);
    this.failure = Array.from({ length: table.count }, () => null);
    this.isOpen = new Uint8Array(table.count).fill(1);
    this.open = table.count;
  }

  token(request: number, isFirst: boolean, gapNs: number, nowNs: number): boolean {
    this.tokens++;
    if (nowNs !== this.#tokenNs) this.#lookWhere(nowNs);
    this.tokensInWindow += this.#inWindow;
    this.tokensInTotalWindow += this.#inTotalWindow;
    if (isFirst) this.firstTokenNs[request] = nowNs;
    else this.#addGap(gapNs);
    return false;
  }

  finished(request: number, nowNs: number): void {
    this.lastTokenNs[request] = nowNs;
    this.#close(request);
    this.#log(20, request, nowNs);
  }

  failed(request: number, reason: EngineFailure, nowNs: number): void {
    this.failure[request] = reason;
    this.#close(request);
    this.#log(21, request, nowNs);
  }

  /** Its client has gone: neither finished nor failed. */
  cancelled(request: number, nowNs: number): void {
    this.#close(request);
    this.#log(22, request, nowNs);
  }

  /** A step of the engine ran from startNs to endNs. */
  ran(startNs: number, endNs: number): void {
    const fromNs = Math.max(startNs, this.window.startNs);
    const toNs = Math.min(endNs, this.window.endNs);
    if (toNs > fromNs) this.runningNs += toNs - fromNs;
  }

  note(kind: EngineNote, value: number, nowNs: number): void {
    this.#log(NOTE_CODES[kind], value, nowNs);
  }

  gapLog(): GapLog {
    return {
      count: this.#gapCount,
      gapNs: this.#gapNs.subarray(0, this.#gapCount),
      weight: this.#gapWeight.subarray(0, this.#gapCount),
    };
  }

  #lookWhere(nowNs: number): void {
    const { window, totalWindow } = this;
    this.#tokenNs = nowNs;
    this.#inWindow = nowNs >= window.startNs && nowNs < window.endNs ? 1 : 0;
    this.#inTotalWindow = nowNs >= totalWindow.startNs && nowNs < totalWindow.endNs ? 1 : 0;
  }

  #close(request: number): void {
    assert(this.isOpen[request] === 1, () => `recorder: request ${request} ended twice`);
    this.isOpen[request] = 0;
    this.open--;
  }

  #log(code: number, value: number, nowNs: number): void {
    this.#digest.add(this.#engine * 64 + code);
    this.#digest.add(value);
    this.#digest.add(nowNs);
  }

  /** Most gaps of a step are equal and come one after the other. */
  #addGap(gapNs: number): void {
    const last = this.#gapCount - 1;
    if (last >= 0 && this.#gapNs[last] === gapNs) {
      this.#gapWeight[last]!++;
      return;
    }
    if (this.#gapCount === this.#gapNs.length) {
      const capacity = this.#gapCount * 2;
      const gaps = new Float64Array(capacity);
      gaps.set(this.#gapNs);
      this.#gapNs = gaps;
      const weights = new Float64Array(capacity);
      weights.set(this.#gapWeight);
      this.#gapWeight = weights;
    }
    this.#gapNs[this.#gapCount] = gapNs;
    this.#gapWeight[this.#gapCount++] = 1;
  }
}

/** End of warm-up (first tenth of the arrival span) to last arrival. */
export function windowOf(table: RequestTable): Window {
  if (table.count === 0) return { startNs: 0, endNs: 0 };
  const firstNs = table.arrivalNs[0]!;
  const lastNs = table.arrivalNs[table.count - 1]!;
  return { startNs: firstNs + (lastNs - firstNs) * 0.1, endNs: lastNs };
}
