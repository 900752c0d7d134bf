/**
 * Moves blocks in virtual time with real bytes: a costed copy engine says when.
 *
 * Implements the engine's CopyEngine. The bytes are copied when the copy ends, into slots that the
 * cache has kept for them; until then the sources are sealed and stay as they are.
 */

import type { CopyEngine, CopyRequest } from "../engine/index.ts";
import type { ByteMover } from "./byte-mover.ts";
import type { KvGeometry } from "./kv-geometry.ts";

export class VirtualCopies implements CopyEngine {
  readonly #costed: CopyEngine;
  readonly #geometry: KvGeometry;
  readonly #mover: ByteMover;
  readonly #open = new Map<number, CopyRequest>();

  constructor(costed: CopyEngine, geometry: KvGeometry, mover: ByteMover) {
    this.#costed = costed;
    this.#geometry = geometry;
    this.#mover = mover;
  }

  submit(request: CopyRequest, nowNs: number): void {
    this.#open.set(request.id, request);
    this.#costed.submit(request, nowNs);
  }

  poll(nowNs: number): number {
    const id = this.#costed.poll(nowNs);
    if (id < 0) return id;
    const request = this.#open.get(id);
    this.#open.delete(id);
    if (request === undefined) return id;
    const { sourceHandles, targetHandles } = request;
    this.#mover.move(this.#geometry.pieces(sourceHandles, targetHandles));
    return id;
  }

  abort(id: number, nowNs: number): void {
    this.#open.delete(id);
    this.#costed.abort(id, nowNs);
  }

  nextDueNs(): number {
    return this.#costed.nextDueNs();
  }
}
