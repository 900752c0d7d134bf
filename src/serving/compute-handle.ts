/**
 * A device's compute thread as the server sees it: orders in, states and results out.
 *
 * Used by the runner in real time. It waits only where it is told to (`waitForChange`), and knows
 * no step's contents.
 */

import { MessageChannel, receiveMessageOnPort, type Worker } from "node:worker_threads";
import { assert, EmaError } from "../base/index.ts";
import { hasThreadEnded, siblingModule, startThread } from "../device/index.ts";
import {
  Control,
  Gate,
  State,
  type ComputeOrder,
  type ComputeResult,
  type ComputeThreadData,
} from "./compute-protocol.ts";

export type ComputeThreadSetup = Omit<ComputeThreadData, "control" | "gates" | "port">;

export class ComputeThread {
  readonly control: Int32Array;
  readonly gates: Int32Array;
  /** Resolves when the thread has gone. */
  readonly ended: Promise<void>;
  readonly #device: number;
  readonly #port: MessageChannel["port1"];
  readonly #worker: Worker;
  #failure: EmaError | null = null;
  #isClosing = false;

  private constructor(setup: ComputeThreadSetup) {
    this.#device = setup.device;
    const groupCount = Math.ceil(setup.layout.layers / setup.groupLayers);
    this.control = sharedWords(Control.WORDS);
    this.gates = sharedWords(groupCount * Gate.WORDS);
    const channel = new MessageChannel();
    this.#port = channel.port1;
    this.#port.unref();
    const { control, gates } = this;
    const data: ComputeThreadData = { ...setup, control, gates, port: channel.port2 };
    this.#worker = startThread(siblingModule("compute-thread", import.meta.url), {
      workerData: data,
      transferList: [channel.port2],
      name: `ema-compute-${setup.device}`,
    });
    this.#worker.on("error", (cause) => this.#fail(cause));
    this.ended = new Promise((resolve) => {
      this.#worker.on("exit", () => {
        if (!this.#isClosing) this.#fail(null);
        resolve();
      });
    });
  }

  /** @throws EmaError E_DEVICE when the thread does not come up */
  static async start(setup: ComputeThreadSetup): Promise<ComputeThread> {
    const thread = new ComputeThread(setup);
    const ready = new Promise<void>((resolve) => thread.#worker.once("message", () => resolve()));
    await Promise.race([ready, thread.ended]);
    if (thread.#failure !== null) throw thread.#failure;
    return thread;
  }

  /** @throws EmaError E_DEVICE when it has ended and nobody asked it to */
  get state(): number {
    if (this.#failure !== null) throw this.#failure;
    return Atomics.load(this.control, Control.State);
  }

  get groupsDone(): number {
    return Atomics.load(this.control, Control.GroupsDone);
  }

  order(order: ComputeOrder): void {
    if (order.kind !== "stop") {
      Atomics.store(this.control, Control.State, State.Running);
      Atomics.store(this.control, Control.Pause, 0);
    }
    if (order.kind === "step") Atomics.store(this.control, Control.GroupsDone, 0);
    this.#port.postMessage(order, []);
    Atomics.add(this.control, Control.Orders, 1);
    Atomics.notify(this.control, Control.Orders);
  }

  /** Asks it to stop before the next layer group; it is Paused or Ended some time after. */
  pause(): void {
    Atomics.store(this.control, Control.Pause, 1);
    Atomics.notify(this.control, Control.Pause);
  }

  /** Blocks until the thread has done something or has ended, at most `timeoutMs`. */
  waitForChange(seen: number, timeoutMs: number): void {
    if (Atomics.wait(this.control, Control.Changes, seen, timeoutMs) !== "timed-out") return;
    // Who blocks gets no event of its end.
    if (hasThreadEnded(Atomics.load(this.control, Control.Thread))) this.#fail(null);
  }

  get changes(): number {
    return Atomics.load(this.control, Control.Changes);
  }

  /** The result of a step that has ended; the thread is idle afterwards. */
  takeResult(): Extract<ComputeResult, { kind: "ended" }> {
    const got = receiveMessageOnPort(this.#port);
    assert(got !== undefined, "compute thread: a step has ended without a result");
    const result = got.message as ComputeResult;
    assert(result.kind === "ended", () => `compute thread: ${JSON.stringify(result)}`);
    Atomics.store(this.control, Control.State, State.Idle);
    return result;
  }

  /** Ends it in mid-flight, as a crash would; for tests. */
  async kill(): Promise<void> {
    await this.#worker.terminate();
  }

  async close(): Promise<void> {
    if (!this.#isClosing) {
      this.#isClosing = true;
      this.pause();
      this.order({ kind: "stop" });
    }
    await this.ended;
    this.#port.close();
  }

  #fail(cause: unknown): void {
    const why = cause instanceof Error ? `: ${cause.message.split("\n")[0]}` : "";
    const text = `the compute thread of device ${this.#device} has ended${why}`;
    this.#failure ??= new EmaError("E_DEVICE", text, { cause });
    // Whoever waits looks again, and finds out.
    Atomics.add(this.control, Control.Changes, 1);
    Atomics.notify(this.control, Control.Changes);
  }
}

function sharedWords(count: number): Int32Array {
  return new Int32Array(new SharedArrayBuffer(count * Int32Array.BYTES_PER_ELEMENT));
}
