/**
 * A server in virtual time: engines, pool and loads under one clock.
 *
 * Built by simulate.ts; tests step it themselves and walk `check()` after every event. It is the
 * one driver loop: who is due first ticks, then everybody with mail, then time jumps.
 *
 * It holds no policy: engines are the production ones, only their runner and copies are costed.
 *
 * Invariants (check): those of every part; lent = borrowed over all engines; nothing is due in the
 * past; some engine is due while a request is open.
 */

import { assert, engineId } from "../base/index.ts";
import type { Engine } from "../engine/index.ts";
import type { FinishedRecall, Pool } from "../pool/index.ts";
import type { RequestTable } from "../workload/index.ts";
import { DueTimes } from "./due-times.ts";
import type { Recorder } from "./recorder.ts";
import type { ServerLoad } from "./server-load.ts";

/** More ticks at one instant than any real exchange of events takes: a livelock. */
const TICKS_AT_ONCE_MAX = 10_000;

export interface ClusterMember {
  readonly engine: Engine;
  readonly gpu: number;
  readonly recorder: Recorder;
  readonly requests: RequestTable;
  readonly sliceBytes: number;
}

export class Cluster {
  readonly members: readonly ClusterMember[];
  readonly pool: Pool;
  readonly load: ServerLoad;
  /** Recalls that have finished, in that order; they grow with the run. */
  readonly recalls: readonly FinishedRecall[];
  nowNs = 0;
  events = 0;
  readonly #due: DueTimes;
  readonly #nextRequest: Int32Array;
  readonly #isGone: Uint8Array;
  #ticked = 0;
  #ticksAtOnce = 0;

  constructor(
    members: readonly ClusterMember[],
    pool: Pool,
    load: ServerLoad,
    recalls: readonly FinishedRecall[],
  ) {
    this.recalls = recalls;
    this.members = members;
    this.pool = pool;
    this.load = load;
    this.#due = new DueTimes(members.length);
    this.#nextRequest = new Int32Array(members.length);
    this.#isGone = new Uint8Array(members.length);
    for (let index = 0; index < members.length; index++) this.#refreshDue(index);
  }

  get openRequests(): number {
    let open = 0;
    for (const member of this.members) open += member.recorder.open;
    return open;
  }

  /** Whether every request has ended. Costs a look at all engines only when one has none left. */
  get hasEnded(): boolean {
    return this.members[this.#ticked]!.recorder.open === 0 && this.openRequests === 0;
  }

  /** Advances to the next due engine and ticks it. @returns false when all requests have ended. */
  step(): boolean {
    const { first } = this.#due;
    const dueNs = this.#due.at(first);
    if (dueNs === Infinity) {
      assert(this.openRequests === 0, () => `cluster: nothing is due, ${this.openRequests} open`);
      return false;
    }
    assert(dueNs >= this.nowNs, () => `cluster: due at ${dueNs} before ${this.nowNs}`);
    this.#ticksAtOnce = dueNs === this.nowNs ? this.#ticksAtOnce + 1 : 0;
    assert(this.#ticksAtOnce < TICKS_AT_ONCE_MAX, () => `cluster: livelock at ${dueNs}`);
    this.nowNs = dueNs;
    this.#tick(first);
    return true;
  }

  isGone(index: number): boolean {
    return this.#isGone[index] === 1;
  }

  /** Something from outside acts on an engine between events: an operator, a client, a fault. */
  act(index: number, action: (engine: Engine, nowNs: number) => void): void {
    assert(!this.isGone(index), () => `cluster: engine ${index} is gone`);
    action(this.members[index]!.engine, this.nowNs);
    this.#refreshDue(index);
    this.#deliverMail();
  }

  /** The engine's process is gone: its requests fail, its memory is lost to its borrowers. */
  removeEngine(index: number): void {
    const { recorder, requests, gpu } = this.members[index]!;
    this.#isGone[index] = 1;
    for (let request = 0; request < requests.count; request++) {
      if (recorder.isOpen[request] === 1) recorder.failed(request, "engine-lost", this.nowNs);
    }
    this.#due.set(index, Infinity);
    this.load.forget(gpu);
    this.pool.apply({ type: "RemoveEngine", engine: engineId(index) }, this.nowNs);
    this.#deliverMail();
  }

  check(): void {
    this.pool.check();
    this.#due.check();
    for (let index = 0; index < this.members.length; index++) {
      if (this.#isGone[index] === 0) this.members[index]!.engine.check();
    }
    let lent = 0;
    let borrowed = 0;
    for (let index = 0; index < this.members.length; index++) {
      lent += this.pool.lentSlices(engineId(index));
      borrowed += this.pool.borrowedSlices(engineId(index));
    }
    assert(lent === borrowed, () => `cluster: ${lent} lent, ${borrowed} borrowed`);
  }

  #tick(index: number): void {
    const { engine, requests, recorder } = this.members[index]!;
    this.events++;
    let next = this.#nextRequest[index]!;
    while (next < requests.count && requests.arrivalNs[next]! <= this.nowNs) {
      engine.submit(next, requests.promptTokens[next]!, requests.outputTokens[next]!, this.nowNs);
      next++;
    }
    this.#nextRequest[index] = next;
    engine.tick(this.nowNs);
    this.#ticked = index;
    this.#refreshDue(index);
    this.#deliverMail();
    this.#gauge(index, recorder);
  }

  #gauge(index: number, recorder: Recorder): void {
    const id = engineId(index);
    const { sliceBytes } = this.members[index]!;
    const { window } = recorder;
    recorder.borrowed.set(this.pool.borrowedSlices(id) * sliceBytes, this.nowNs, window);
    recorder.lent.set(this.pool.lentSlices(id) * sliceBytes, this.nowNs, window);
  }

  /** Whoever has events is due now; what changed for others is gauged when they read it. */
  #deliverMail(): void {
    if (!this.pool.hasMail) return;
    for (let index = 0; index < this.members.length; index++) {
      if (this.#isGone[index] === 1 || !this.pool.hasEvents(engineId(index))) continue;
      this.#due.set(index, this.nowNs);
    }
  }

  #refreshDue(index: number): void {
    const { engine, requests } = this.members[index]!;
    const next = this.#nextRequest[index]!;
    const arrivalNs = next < requests.count ? requests.arrivalNs[next]! : Infinity;
    const dueNs = Math.min(engine.nextDueNs(), arrivalNs);
    this.#due.set(index, Math.max(dueNs, this.nowNs));
  }
}
