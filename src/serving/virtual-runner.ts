/**
 * Runs steps in virtual time with real bytes: a costed runner says when, a decoder says what.
 *
 * Implements the engine's StepRunner. Layer groups are computed when the engine can first see that
 * they have run: at an interrupt those up to the group in flight, under the tables they ran with,
 * and the rest when the step ends. Staged blocks are copied into the ring before their group.
 */

import { assert } from "../base/index.ts";
import type { StepRunner, StepTiming, StepWork } from "../engine/index.ts";
import type { ByteMover } from "./byte-mover.ts";
import type { EpochWatch } from "./epoch-watch.ts";
import type { KvGeometry } from "./kv-geometry.ts";
import { newReadCounts, type ReadCounts } from "./read-counts.ts";
import { RingPlaces } from "./ring-places.ts";
import type { SampledToken, StepExecution } from "./step-execution.ts";
import { buildStepTables, stagedPieces, type StepTables } from "./step-tables.ts";
import type { TokenStore } from "./token-store.ts";

export interface VirtualRunnerParts {
  readonly costed: StepRunner;
  /** @returns the layer group with which an interrupted step goes on. */
  readonly resumeGroup: () => number;
  readonly geometry: KvGeometry;
  readonly tokens: TokenStore;
  readonly execution: StepExecution;
  readonly mover: ByteMover;
  readonly epochs: EpochWatch;
}

export class VirtualRunner implements StepRunner {
  readonly timing: StepTiming;
  readonly isForeseen = true;
  readonly counts: ReadCounts = newReadCounts();
  readonly #parts: VirtualRunnerParts;
  readonly #sampled = new Map<number, SampledToken>();
  #tables: StepTables | null = null;
  #ring: RingPlaces;
  #nextGroup = 0;

  constructor(parts: VirtualRunnerParts) {
    this.#parts = parts;
    this.timing = parts.costed.timing;
    this.#ring = new RingPlaces(parts.geometry, []);
  }

  /** The token that the last step made for a request. */
  tokenOf(request: number): SampledToken {
    const token = this.#sampled.get(request);
    assert(token !== undefined, () => `virtual runner: no token for request ${request}`);
    return token;
  }

  submit(work: StepWork, nowNs: number): void {
    const { costed, execution, epochs } = this.#parts;
    costed.submit(work, nowNs);
    this.#sampled.clear();
    this.#tables = this.#tablesOf(work);
    this.#nextGroup = 0;
    epochs.begin(this.#tables, false);
    execution.begin(this.#tables);
  }

  interrupt(nowNs: number): number {
    const groupEndNs = this.#parts.costed.interrupt(nowNs);
    this.#runUntil(this.#parts.resumeGroup());
    this.counts.interruptedSteps++;
    return groupEndNs;
  }

  resume(work: StepWork): void {
    const { costed, execution, epochs } = this.#parts;
    costed.resume(work);
    const rest = this.#tablesOf(work);
    epochs.begin(rest, true);
    execution.retable(rest);
  }

  poll(nowNs: number): boolean {
    const { costed, execution, epochs, geometry } = this.#parts;
    if (!costed.poll(nowNs)) return false;
    this.#runUntil(geometry.groupCount);
    for (const token of execution.finish()) this.#sampled.set(token.request, token);
    this.timing.isVoid = !epochs.isSound();
    if (this.timing.isVoid) this.counts.voidSteps++;
    this.#tables = null;
    return true;
  }

  rest(nowNs: number): void {
    this.#parts.costed.rest(nowNs);
  }

  nextDueNs(): number {
    return this.#parts.costed.nextDueNs();
  }

  #tablesOf(work: StepWork): StepTables {
    const { geometry, tokens } = this.#parts;
    this.#ring = new RingPlaces(
      geometry,
      work.ringRows.map((row) => geometry.rowAddress[row]!),
    );
    let units = 0;
    const tables = buildStepTables(work, geometry, tokens, () => {
      if (units < this.#ring.unitsPerHalf) return units++;
      this.counts.overflowBlocks++;
      return -1;
    });
    this.counts.stagedBlocks += units;
    this.counts.directBlocks += tables.remoteBlocks - units;
    return tables;
  }

  #runUntil(endGroup: number): void {
    const { execution, mover, geometry } = this.#parts;
    for (; this.#nextGroup < endGroup; this.#nextGroup++) {
      const group = this.#nextGroup;
      const unitAddress = (unit: number): number => this.#ring.address(group % 2, unit);
      mover.move(stagedPieces(this.#tables!, geometry, group, unitAddress));
      execution.runGroup(group, unitAddress);
    }
  }

}
