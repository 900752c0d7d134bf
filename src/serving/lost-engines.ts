/**
 * Engines of a server in real time that are gone, until nothing of theirs is on its way any more.
 *
 * Kept by the server, which says who is gone and asks at each run who may go. What a lost borrower
 * had sent for may still be copied into its lenders' memory: were its slices home at once, their
 * owners would write there too.
 *
 *     lost: retired, its copies given up --no chunk on its way--> out of the pool, device given up
 */

import type { CopyHub } from "./copy-hub.ts";
import type { RealCopies } from "./real-copies.ts";
import type { ServerLoop } from "./server-loop.ts";

export class LostEngines {
  readonly #loop: ServerLoop;
  readonly #hub: CopyHub;
  /** (engines) */
  readonly #copies: readonly RealCopies[];
  /** (engines) */
  readonly #deviceOf: readonly number[];
  readonly #leaving = new Set<number>();

  constructor(
    loop: ServerLoop,
    hub: CopyHub,
    copies: readonly RealCopies[],
    deviceOf: readonly number[],
  ) {
    this.#loop = loop;
    this.#hub = hub;
    this.#copies = copies;
    this.#deviceOf = deviceOf;
  }

  lose(index: number): void {
    this.#loop.retire(index);
    this.#copies[index]!.abortAll();
    this.#leaving.add(index);
  }

  /** Takes out of the pool whose copies have come to rest; their arrival wakes the server. */
  settle(nowNs: number): void {
    if (this.#leaving.size === 0) return;
    this.#hub.pump(nowNs);
    for (const index of this.#leaving) {
      if (!this.#copies[index]!.isQuiet) continue;
      this.#leaving.delete(index);
      this.#loop.remove(index, nowNs);
      this.#hub.giveUp(this.#deviceOf[index]!);
    }
  }
}
