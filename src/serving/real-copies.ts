/**
 * Moves blocks in real time: pieces of the layout, carried by the copy threads of devices.
 *
 * Implements the engine's CopyEngine over the server's queues. The device that is written carries a
 * move, as only an owner writes its memory; towards the host it is the device that is read.
 */

import type { CopyEngine, CopyRequest } from "../engine/index.ts";
import type { CopyHub } from "./copy-hub.ts";
import type { KvGeometry } from "./kv-geometry.ts";

export class RealCopies implements CopyEngine {
  readonly #hub: CopyHub;
  readonly #geometry: KvGeometry;
  /** (sources) the place of each. */
  readonly #placeOf: readonly number[];
  readonly #now: () => number;
  /** (devices) transfers that have ended there. */
  readonly #ended: readonly number[][];
  /** (devices) moves by transfer. */
  readonly #moves: readonly Map<number, number>[];
  /** Given up; pieces that are on their way still arrive. */
  readonly #aborted: { device: number; transfer: number; move: number }[] = [];
  #lastNs = 0;

  constructor(
    hub: CopyHub,
    geometry: KvGeometry,
    placeOf: readonly number[],
    now: () => number,
  ) {
    this.#hub = hub;
    this.#geometry = geometry;
    this.#placeOf = placeOf;
    this.#now = now;
    const devices = Array.from({ length: hub.deviceCount });
    this.#ended = devices.map(() => []);
    this.#moves = devices.map(() => new Map());
  }

  submit(request: CopyRequest): void {
    const own = this.#placeOf[0]!;
    const [from, to] = [this.#placeOf[request.source]!, this.#placeOf[request.target]!];
    const device = to < this.#hub.deviceCount ? to : from;
    const isForeign = to !== own && to < this.#hub.deviceCount;
    const cause = request.isExempt ? "exempt" : isForeign ? "write" : "read";
    const pieces = this.#geometry.pieces(request.sourceHandles, request.targetHandles);
    const transfer = { path: { from, to }, pieces, deadlineNs: Infinity, arrivalCell: 0 };
    const id = this.#hub.push(device, transfer, cause, this.#ended[device]!);
    this.#moves[device]!.set(id, request.id);
    this.#hub.pump(this.#now());
  }

  poll(nowNs: number): number {
    this.#lastNs = nowNs;
    this.#hub.pump(this.#now());
    const done = this.#aborted.findIndex(
      ({ device, transfer }) => !this.#hub.isOpen(device, transfer),
    );
    if (done >= 0) return this.#aborted.splice(done, 1)[0]!.move;
    for (let device = 0; device < this.#ended.length; device++) {
      const id = this.#ended[device]!.shift();
      if (id === undefined) continue;
      const move = this.#moves[device]!.get(id)!;
      this.#moves[device]!.delete(id);
      return move;
    }
    return -1;
  }

  abort(id: number): void {
    this.#moves.forEach((moves, device) => {
      for (const [transfer, move] of moves) {
        if (move !== id || this.#ended[device]!.includes(transfer)) continue;
        moves.delete(transfer);
        this.#aborted.push({ device, transfer, move });
        this.#hub.cancel(device, transfer);
      }
    });
  }

  /** Its engine is gone: nothing more is sent for; what is on its way still arrives. */
  abortAll(): void {
    for (const moves of this.#moves) for (const move of moves.values()) this.abort(move);
  }

  /** Whether no byte of what was given up is on its way any more. */
  get isQuiet(): boolean {
    return this.#aborted.every(({ device, transfer }) => !this.#hub.isOpen(device, transfer));
  }

  nextDueNs(): number {
    const isOver = this.#aborted.some(
      ({ device, transfer }) => !this.#hub.isOpen(device, transfer),
    );
    if (isOver) return this.#lastNs;
    if (this.#ended.some((ids) => ids.length > 0)) return this.#lastNs;
    return this.#hub.nextDueNs();
  }
}
