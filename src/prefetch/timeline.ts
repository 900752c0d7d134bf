/**
 * The replay of one step, layer group by layer group, on one compute stream and one FIFO port.
 *
 * Called once a step by runners that cost a step, and again from a group's end when rates or bytes
 * change inside it. It knows sums by lender, not slices; it decides nothing.
 *
 * The rules, for S bytes of a layer staged and D read directly:
 *
 *   compute |host|linear 0|attention 0|linear 1|~wait~|attention 1|linear 2|attention 2|head|
 *   port  [copy 0][copy 1  ..direct 0.. copy 1       ][ copy 2       ][copy 0 of the next step
 *         ^ahead  ^        ^                          ^               ^
 *                 |        direct reads go first      |               group 1's slot is free
 *                 the step has started: a free slot   the port is free, group 0's slot too
 *
 * - Compute of a group of L layers: linear L (linearLayer + S/B) slowdown, for staged bytes are
 *   written into HBM meanwhile; then it waits for its copies; then attention, L times the longer of
 *   (attentionLayer - D/B) slowdown and the direct reads. host comes first, head last.
 * - The ring has two slots: copies of group g + 2 start when group g's attention has ended and the
 *   port is free. One copy moves one run of a whole group.
 * - A train of copies pays the latency from when its slot is free; a port still busy then hides
 * it.
 * - Direct reads have the port's priority at copy granularity: copies in flight when attention
 *   starts are pushed back by what the reads add to the work of the port and of the lenders.
 *
 * Invariants: ends are integers and monotone; more bytes and slower links never end a step
 * earlier; with nothing remote the step is host + layers (linear + attention) slowdown + head,
 * rounded once, and the shortcut taken then equals the replay to the nanosecond. Times inside are
 * floats relative to the start, so that a shift of the clock changes nothing.
 */

import { assert } from "../base/index.ts";
import { IngressPort } from "./ingress-port.ts";
import type { StepCompute } from "./step-compute.ts";
import { StepLoads, type RemoteReads } from "./step-loads.ts";

const NO_COPIES = 0;
const HIT = 1;
const LATE = 2;
const MISS = 3;

/** One step's question; the caller owns and reuses it. */
export interface TimelineInput extends RemoteReads {
  /** The step's start; with firstGroup > 0, the end of group firstGroup - 1. */
  startNs: number;
  /** Groups before it keep what an earlier `lay` of the same step gave them. */
  firstGroup: number;
  /** Groups of the whole step. */
  groupCount: number;
  groupLayers: number;
  /** Of the whole step; the last group may be smaller. */
  layers: number;
  compute: StepCompute;
  /** At least 1: factor on linear and attention time because others read this GPU's HBM. */
  hbmSlowdown: number;
  /**
   * Time from which the port could work on the first group: the step before's `nextAheadFromNs`,
   * this one's `copyFromNs[firstGroup]` when it is laid again, or startNs.
   */
  aheadFromNs: number;
  /**
   * In [0, 1]: share of the first group's staged bytes that the forecast had right; the rest is
   * copied from startNs on.
   */
  aheadShare: number;
}

export class StepTimeline {
  /** (groups) integers: when each group's attention has ended. */
  readonly groupEndNs: Float64Array;
  /** (groups) from when the port could work on each group's copies; fractions. */
  readonly copyFromNs: Float64Array;
  /** Includes headNs. Integer. */
  endNs = 0;
  /** The same step had all its KV been local, under the same slowdown. Integer. */
  localEndNs = 0;
  /**
   * When the port may begin group 0 of the next step: its slot is free, the port idle. Integer.
   */
  nextAheadFromNs = 0;
  // The rest is of the whole step, also when only its later groups were laid again.
  /** Time groups waited for staged bytes, and attention prolonged by direct reads. */
  waitNs = 0;
  /** Time in which remote reads of this step were under way. */
  linkBusyNs = 0;
  /** Groups whose staged bytes were there, were under way, or had not been begun when wanted. */
  hits = 0;
  lates = 0;
  misses = 0;

  #groupCount = 0;
  #stepStartNs = 0;
  /** (groups) what each group added to the totals, so that a second `lay` can keep a part. */
  readonly #groupWaitNs: Float64Array;
  readonly #groupBusyNs: Float64Array;
  readonly #groupOutcome: Uint8Array;
  /** The local step up to #laidGroup, and one layer of it from there on. */
  #laidGroup = 0;
  #localBaseNs = 0;
  #localLayerNs = 0;

  readonly #loads = new StepLoads();
  readonly #port = new IngressPort();
  /** One layer with its remote loads; without the slowdown, so that a step is scaled only once. */
  #linearNs = 0;
  #attentionNs = 0;

  constructor(layersMax: number) {
    this.groupEndNs = new Float64Array(layersMax);
    this.copyFromNs = new Float64Array(layersMax);
    this.#groupWaitNs = new Float64Array(layersMax);
    this.#groupBusyNs = new Float64Array(layersMax);
    this.#groupOutcome = new Uint8Array(layersMax);
  }

  /** Fills every public field. Allocates nothing. */
  lay(input: TimelineInput): void {
    const { startNs, compute } = input;
    this.#begin(input);
    this.#sumBefore(input.firstGroup);
    this.#continueLocal(input);
    const isRemote = this.#loads.stagedBytes > 0 || this.#loads.directBytes > 0;
    const lastNs = isRemote ? this.#layRemote(input) : this.#layLocal(input);
    const layersLeft = Math.max(input.layers - input.firstGroup * input.groupLayers, 0);
    const localNs = this.#localBaseNs + layersLeft * this.#localLayerNs + compute.headNs;
    this.endNs = startNs + Math.round(lastNs + compute.headNs);
    this.localEndNs = this.#stepStartNs + Math.round(localNs);
  }

  /**
   * @returns the group in flight at nowNs (the last one while the head runs): groups up to it are
   *   done for, later ones can be laid again from its end.
   */
  groupAt(nowNs: number): number {
    let low = 0;
    let high = this.#groupCount - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.groupEndNs[middle]! > nowNs) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  #begin(input: TimelineInput): void {
    const { startNs, firstGroup, groupCount, groupLayers, layers, compute, hbmSlowdown } = input;
    assert(groupCount === Math.ceil(layers / groupLayers), "timeline: groups do not cover layers");
    assert(groupCount <= this.groupEndNs.length, "timeline: more groups than it was built for");
    assert(firstGroup >= 0 && firstGroup <= groupCount, "timeline: first group out of range");
    assert(hbmSlowdown >= 1, "timeline: a slowdown below 1");
    if (firstGroup > 0) {
      const endedNs = this.groupEndNs[firstGroup - 1]!;
      assert(startNs >= endedNs, () => `timeline: laid again at ${startNs}, before ${endedNs}`);
      assert(firstGroup >= this.#laidGroup, "timeline: laid again from a group that is done for");
    }
    this.#groupCount = groupCount;
    this.#loads.weigh(input);
    const { stagedBytes, directBytes, directNs } = this.#loads;
    const hbmNsPerByte = 1e9 / compute.hbmBytesPerSecond;
    this.#linearNs = compute.linearLayerNs + stagedBytes * hbmNsPerByte;
    const hbmReadNs = compute.attentionLayerNs - directBytes * hbmNsPerByte;
    this.#attentionNs = Math.max(hbmReadNs, directNs / hbmSlowdown);
  }

  /** Moves the local step's base to the first group laid, and weighs a layer from there on. */
  #continueLocal(input: TimelineInput): void {
    const { startNs, firstGroup, groupLayers, layers, compute } = input;
    if (firstGroup === 0) {
      this.#stepStartNs = startNs;
      this.#localBaseNs = compute.hostNs;
    } else {
      const layersDone = Math.min(firstGroup * groupLayers, layers) - this.#laidGroup * groupLayers;
      this.#localBaseNs += layersDone * this.#localLayerNs;
    }
    this.#laidGroup = firstGroup;
    const localNs = compute.linearLayerNs + compute.attentionLayerNs;
    this.#localLayerNs = localNs * input.hbmSlowdown;
  }

  /** The shortcut: nothing crosses the port. @returns the last group's end after startNs. */
  #layLocal(input: TimelineInput): number {
    const { startNs, firstGroup, groupCount, groupLayers, layers, compute } = input;
    const { groupEndNs, copyFromNs } = this;
    const layerNs = (this.#linearNs + this.#attentionNs) * input.hbmSlowdown;
    const baseNs = firstGroup === 0 ? compute.hostNs : 0;
    let endNs = 0;
    let slotFreeNs = 0;
    for (let group = firstGroup; group < groupCount; group++) {
      const layersDone = Math.min((group + 1) * groupLayers, layers) - firstGroup * groupLayers;
      copyFromNs[group] = startNs + slotFreeNs;
      slotFreeNs = endNs;
      endNs = baseNs + layersDone * layerNs;
      groupEndNs[group] = startNs + Math.round(endNs);
    }
    this.#groupWaitNs.fill(0, firstGroup, groupCount);
    this.#groupBusyNs.fill(0, firstGroup, groupCount);
    this.#groupOutcome.fill(NO_COPIES, firstGroup, groupCount);
    if (firstGroup < groupCount) this.nextAheadFromNs = startNs + Math.round(slotFreeNs);
    return endNs;
  }

  /** The replay. @returns the last group's end after startNs. */
  #layRemote(input: TimelineInput): number {
    const { startNs, firstGroup, groupCount, groupLayers, layers, compute } = input;
    const { groupEndNs, copyFromNs } = this;
    const port = this.#port;
    const { directNs } = this.#loads;
    const lastGroup = groupCount - 1;
    const lastLayers = layers - lastGroup * groupLayers;
    const linearNs = this.#linearNs * input.hbmSlowdown;
    const layerNs = (this.#linearNs + this.#attentionNs) * input.hbmSlowdown;
    const prolongedNs = Math.max(directNs - compute.attentionLayerNs * input.hbmSlowdown, 0);
    const baseNs = firstGroup === 0 ? compute.hostNs : 0;
    port.open(this.#loads, input.link.latencyNs, groupLayers, lastLayers);
    port.first(input.aheadFromNs - startNs, input.aheadShare, firstGroup === lastGroup);
    let layersDone = 0;
    let delayNs = 0;
    let endNs = 0;
    let idleNs = 0;
    for (let group = firstGroup; group < groupCount; group++) {
      copyFromNs[group] = startNs + port.fromNs;
      const size = group === lastGroup ? lastLayers : groupLayers;
      const wantedNs = baseNs + layersDone * layerNs + size * linearNs + delayNs;
      const outcome = this.#outcome(wantedNs);
      const waitNs = port.take(wantedNs);
      const attendNs = wantedNs + waitNs;
      const readNs = size * directNs;
      // endNs is still the end of the group before, whose slot the next group's copies need.
      if (group < lastGroup) port.next(endNs, group + 1 === lastGroup);
      else idleNs = Math.max(endNs, port.idleNs(attendNs, readNs));
      port.read(attendNs, readNs);
      layersDone += size;
      delayNs += waitNs;
      endNs = baseNs + layersDone * layerNs + delayNs;
      groupEndNs[group] = startNs + Math.round(endNs);
      this.#add(group, outcome, waitNs + size * prolongedNs, port.busyNs);
    }
    if (firstGroup < groupCount) {
      this.nextAheadFromNs = startNs + Math.round(Math.min(idleNs, endNs));
    }
    return endNs;
  }

  /** Whether the staged bytes at hand are there, under way or not begun when they are wanted. */
  #outcome(wantedNs: number): number {
    if (this.#loads.stagedBytes === 0) return NO_COPIES;
    if (this.#port.arriveNs <= wantedNs) return HIT;
    return this.#port.beginNs < wantedNs ? LATE : MISS;
  }

  /** The totals of groups that keep what they have; those laid now are added one by one. */
  #sumBefore(firstGroup: number): void {
    this.waitNs = 0;
    this.linkBusyNs = 0;
    this.hits = 0;
    this.lates = 0;
    this.misses = 0;
    for (let group = 0; group < firstGroup; group++) {
      const [waitNs, busyNs] = [this.#groupWaitNs[group]!, this.#groupBusyNs[group]!];
      this.#add(group, this.#groupOutcome[group]!, waitNs, busyNs);
    }
  }

  #add(group: number, outcome: number, waitNs: number, busyNs: number): void {
    this.#groupOutcome[group] = outcome;
    this.#groupWaitNs[group] = waitNs;
    this.#groupBusyNs[group] = busyNs;
    this.waitNs += waitNs;
    this.linkBusyNs += busyNs;
    if (outcome === HIT) this.hits++;
    else if (outcome === LATE) this.lates++;
    else if (outcome === MISS) this.misses++;
  }
}
