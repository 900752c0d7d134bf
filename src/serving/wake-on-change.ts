/**
 * Calls when a word of shared memory has changed, without a thread that waits.
 *
 * Used by the server in real time for words that compute and copy threads raise. Waiting this way
 * keeps no process alive.
 */

/** What the language library of this target does not declare yet (ES2024). */
interface AtomicsWithWaitAsync {
  waitAsync(
    array: Int32Array,
    index: number,
    value: number,
  ): { readonly async: false } | { readonly async: true; readonly value: Promise<string> };
}

export class WakeOnChange {
  #isClosed = false;
  readonly #words: Int32Array;
  readonly #index: number;
  readonly #wake: () => void;

  constructor(words: Int32Array, index: number, wake: () => void) {
    this.#words = words;
    this.#index = index;
    this.#wake = wake;
  }

  start(): void {
    void this.#watch();
  }

  close(): void {
    this.#isClosed = true;
    Atomics.notify(this.#words, this.#index);
  }

  async #watch(): Promise<void> {
    const { waitAsync } = Atomics as unknown as AtomicsWithWaitAsync;
    while (!this.#isClosed) {
      const seen = Atomics.load(this.#words, this.#index);
      const change = waitAsync(this.#words, this.#index, seen);
      if (change.async) await change.value;
      if (!this.#isClosed) this.#wake();
    }
  }
}
