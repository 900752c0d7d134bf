/**
 * The thread that computes for one device: takes steps, runs their layer groups, tells the tokens.
 *
 * Started by ComputeThread (compute-handle.ts). It blocks in Atomics.wait where it has nothing to
 * do, at the gates of layer groups whose staged blocks have not arrived, and for the fixed part of
 * a step. It knows no lease, no deadline and no engine.
 */

import { parentPort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { joinEmulatedServer, ownThread } from "../device/index.ts";
import { Decoder } from "../model/index.ts";
import {
  arrivalCellOf,
  Control,
  Gate,
  State,
  type ComputeOrder,
  type ComputeResult,
  type ComputeThreadData,
} from "./compute-protocol.ts";
import { KvGeometry } from "./kv-geometry.ts";
import { RingPlaces } from "./ring-places.ts";
import { StepExecution } from "./step-execution.ts";

/** A wake-up that came between a look and a wait is made up for after so long. */
const LOOK_AGAIN_MS = 1;

class ComputeLoop {
  readonly #data: ComputeThreadData;
  readonly #arrivals: Int32Array;
  readonly #geometry: KvGeometry;
  readonly #execution: StepExecution;
  readonly #close: () => void;
  #ring: RingPlaces;
  #group = 0;
  #startNs = 0;
  #beginNs = 0;
  #waitNs = 0;
  #counts = { hits: 0, lates: 0, misses: 0 };
  /** The last group whose gate was counted. */
  #countedGroup = -1;

  constructor(data: ComputeThreadData) {
    const device = joinEmulatedServer(data.handle, data.device);
    this.#data = data;
    Atomics.store(data.control, Control.Thread, ownThread());
    this.#arrivals = device.arrivals!;
    this.#geometry = new KvGeometry(data.layout, data.groupLayers, new Float64Array(0));
    const { config, limits } = data;
    const { memory, compute } = device;
    const decoder = new Decoder({ config, memory, compute, limits }, data.place);
    this.#execution = new StepExecution(decoder, this.#geometry, data.scratch);
    this.#ring = new RingPlaces(this.#geometry, []);
    this.#close = () => device.close();
  }

  run(): void {
    const { control, port } = this.#data;
    let seen = 0;
    for (;;) {
      Atomics.wait(control, Control.Orders, seen);
      seen = Atomics.load(control, Control.Orders);
      for (let got = receiveMessageOnPort(port); got; got = receiveMessageOnPort(port)) {
        const order = got.message as ComputeOrder;
        if (order.kind === "stop") {
          this.#close();
          return;
        }
        this.#carryOut(order);
      }
    }
  }

  #carryOut(order: Exclude<ComputeOrder, { kind: "stop" }>): void {
    try {
      this.#ring = new RingPlaces(this.#geometry, order.ringAddress);
      if (order.kind === "resume") {
        this.#execution.retable(order.tables);
      } else {
        this.#execution.begin(order.tables);
        this.#group = 0;
        this.#startNs = nowNs();
        this.#beginNs = this.#startNs + order.hostNs;
        this.#waitNs = 0;
        this.#countedGroup = -1;
        this.#counts = { hits: 0, lates: 0, misses: 0 };
      }
      if (this.#runGroups()) this.#end();
    } catch (error) {
      const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
      this.#tell({ kind: "failed", message }, State.Failed);
    }
  }

  /** @returns false when it was asked to pause. */
  #runGroups(): boolean {
    const { control } = this.#data;
    for (;;) {
      if (Atomics.load(control, Control.Pause) === 1) {
        this.#changed(State.Paused);
        return false;
      }
      if (this.#group === this.#geometry.groupCount) return true;
      if (!this.#hasBegun() || !this.#isOpen(this.#group)) continue;
      const half = Atomics.load(this.#data.gates, this.#group * Gate.WORDS + Gate.Half);
      this.#execution.runGroup(this.#group, (unit) => this.#ring.address(half, unit));
      this.#group++;
      Atomics.store(control, Control.GroupsDone, this.#group);
      this.#changed(State.Running);
    }
  }

  /** Sleeps through the fixed part of a step. @returns whether it is over. */
  #hasBegun(): boolean {
    const leftMs = (this.#beginNs - nowNs()) / 1e6;
    if (leftMs <= 0) return true;
    Atomics.wait(this.#data.control, Control.Pause, 0, leftMs);
    return nowNs() >= this.#beginNs;
  }

  /** Waits at the group's gate. @returns whether it is open; false: look whether to pause. */
  #isOpen(group: number): boolean {
    const { gates } = this.#data;
    const first = group * Gate.WORDS;
    const isKnown = Atomics.load(gates, first + Gate.Known) === 1;
    const cell = arrivalCellOf(Atomics.load(gates, first + Gate.Half));
    const seen = Atomics.load(this.#arrivals, cell);
    const isThere = isKnown && (Atomics.load(gates, first + Gate.Arrivals) - seen) <= 0;
    this.#count(group, isKnown, isThere);
    if (isThere) return true;
    const sinceNs = nowNs();
    if (isKnown) Atomics.wait(this.#arrivals, cell, seen, LOOK_AGAIN_MS);
    else Atomics.wait(gates, first + Gate.Known, 0, LOOK_AGAIN_MS);
    this.#waitNs += nowNs() - sinceNs;
    return false;
  }

  #count(group: number, isKnown: boolean, isThere: boolean): void {
    if (this.#countedGroup === group) return;
    this.#countedGroup = group;
    if (!this.#execution.isStaged) return;
    if (isThere) this.#counts.hits++;
    else if (isKnown) this.#counts.lates++;
    else this.#counts.misses++;
  }

  #end(): void {
    const tokens = this.#execution.finish();
    const [startNs, endNs, waitNs] = [this.#startNs, nowNs(), this.#waitNs];
    this.#tell({ kind: "ended", tokens, startNs, endNs, waitNs, ...this.#counts }, State.Ended);
  }

  #tell(result: ComputeResult, state: number): void {
    this.#data.port.postMessage(result, []);
    this.#changed(state);
  }

  #changed(state: number): void {
    const { control } = this.#data;
    Atomics.store(control, Control.State, state);
    Atomics.add(control, Control.Changes, 1);
    Atomics.notify(control, Control.Changes);
  }
}

function nowNs(): number {
  return Number(process.hrtime.bigint());
}

const loop = new ComputeLoop(workerData as ComputeThreadData);
parentPort!.postMessage("ready", []);
loop.run();
