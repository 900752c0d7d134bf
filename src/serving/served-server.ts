/**
 * A server of emulated devices in real time: several engines over one pool in one process.
 *
 * Made by `ema serve`, `ema chat`, benchmarks and tests. One loop drives the engines; a thread a
 * device computes and one copies. It holds what it started, and ends it.
 *
 *     SERVING --drain--> DRAINING (takes nothing in) --all ended--> DRAINED
 *        |                   |                                         |
 *        +-------------------+---------------- close ------------------+--> CLOSED
 */

import { engineId, sliceId, type EmaError } from "../base/index.ts";
import type { Pool } from "../pool/index.ts";
import type { ComputeThread } from "./compute-handle.ts";
import { Control } from "./compute-protocol.ts";
import { startComputeThreads } from "./compute-threads.ts";
import { connectEngine } from "./connect-engine.ts";
import { CopyHub } from "./copy-hub.ts";
import { EpochWatch, type EpochSource } from "./epoch-watch.ts";
import { LostEngines } from "./lost-engines.ts";
import { RealCopies } from "./real-copies.ts";
import { RealRunner } from "./real-runner.ts";
import { createServerDevices, type ServerDevices } from "./server-devices.ts";
import { createPool, isBorrowedBy, servedEngineSettings } from "./server-pool.ts";
import { ServedEngine } from "./served-engine.ts";
import type { ServedServerOptions } from "./server-options.ts";
import { ServerLoop } from "./server-loop.ts";
import { ServerPlan } from "./server-plan.ts";
import type { EmulatedClearing } from "./slice-clearing.ts";
import { Staging } from "./staging.ts";
import { TokenStore } from "./token-store.ts";
import { WakeOnChange } from "./wake-on-change.ts";

/** Some 50 us of a thread that others wait for. */
const CLEARED_BYTES_AT_ONCE = 256 * 1024;

export class ServedServer {
  readonly plan: ServerPlan;
  readonly loop: ServerLoop;
  readonly runners: readonly RealRunner[];
  /** Why the server serves no more, or null. */
  failure: unknown = null;
  readonly #devices: ServerDevices;
  /** (engines) what computes for each. */
  readonly threads: readonly ComputeThread[];
  readonly #lost: LostEngines;
  readonly #watches: readonly WakeOnChange[];
  readonly #clearings: EmulatedClearing[] = [];
  readonly #clockStartNs: number;
  readonly #onEngineLost: NonNullable<ServedServerOptions["onEngineLost"]>;
  /** Threads and waits on shared memory keep no process alive; a server does, until closed. */
  readonly #keepAlive = setInterval(() => undefined, 2 ** 30);
  #timer: NodeJS.Timeout | null = null;
  #isScheduled = false;
  #isClosed = false;
  #drained: (() => void)[] = [];

  private constructor(
    plan: ServerPlan,
    devices: ServerDevices,
    threads: readonly ComputeThread[],
    onEngineLost: NonNullable<ServedServerOptions["onEngineLost"]>,
  ) {
    this.plan = plan;
    this.#onEngineLost = onEngineLost;
    this.#devices = devices;
    this.threads = threads;
    this.#clockStartNs = machineNs();
    const pool = createPool(plan);
    const hub = this.#createHub(pool);
    const runners: RealRunner[] = [];
    const allCopies: RealCopies[] = [];
    const engines = plan.engines.map((_, index) => {
      const tokens = new TokenStore();
      const device = devices.engines[index]!;
      const runner = this.#createRunner(index, tokens, pool, hub);
      runners.push(runner);
      const host = { nowNs: () => this.nowNs, wake: () => this.#wake(index) };
      const served = new ServedEngine(servedEngineSettings(plan, index), tokens, runner, host);
      const copies = new RealCopies(hub, device.geometry, this.#placeOf(index), host.nowNs);
      allCopies.push(copies);
      const world = { pool, runner, copies, device };
      this.#clearings.push(connectEngine(served, plan, index, world));
      return served;
    });
    this.runners = runners;
    this.loop = new ServerLoop(engines, pool, (index, error) => this.#lose(index, error));
    const deviceOf = plan.engines.map(({ device }) => device);
    this.#lost = new LostEngines(this.loop, hub, allCopies, deviceOf);
    const watches = threads.map(
      ({ control }, index) => new WakeOnChange(control, Control.Changes, () => this.#wake(index)),
    );
    for (let device = 0; device < hub.deviceCount; device++) {
      watches.push(new WakeOnChange(hub.arrivals(device), 0, () => this.#wakeAll()));
    }
    this.#watches = watches;
    for (const watch of watches) watch.start();
    this.#wakeAll();
  }

  /** @throws EmaError E_MODEL_FIT, E_DEVICE, or what reading the checkpoint throws */
  static async create(options: ServedServerOptions): Promise<ServedServer> {
    const plan = new ServerPlan(options);
    const devices = await createServerDevices(options, plan, "real");
    const threads = await startComputeThreads(devices, plan, options.checkpoint.config);
    return new ServedServer(plan, devices, threads, options.onEngineLost ?? (() => {}));
  }

  get engines(): readonly ServedEngine[] {
    return this.loop.engines;
  }

  /** What this machine cannot do, a line each. */
  get notes(): readonly string[] {
    return this.#devices.emulated.notes;
  }

  /** Nanoseconds since the server was made. */
  get nowNs(): number {
    return machineNs() - this.#clockStartNs;
  }

  /** Takes nothing in any more. Resolves when all that was taken in has ended. */
  drain(): Promise<void> {
    for (const engine of this.engines) engine.beginClosing();
    return new Promise((resolve) => {
      this.#drained.push(resolve);
      this.#wakeAll();
    });
  }

  /** Something was done to engines from outside: they tick soon. */
  touchAll(): void {
    this.#wakeAll();
  }

  /** The device and its engine are gone, as if its process had died. */
  removeEngine(index: number): void {
    this.#lost.lose(index);
    void this.threads[index]!.close();
    this.#schedule();
  }

  /** Aborts what has not ended, ends all threads and gives the memory back. Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    for (const engine of this.engines) {
      engine.beginClosing();
      engine.abortAll();
    }
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    for (const watch of this.#watches) watch.close();
    await Promise.all(this.threads.map((thread) => thread.close()));
    await this.#devices.emulated.close();
    clearInterval(this.#keepAlive);
    for (const resolve of this.#drained) resolve();
  }

  /** What computes or copies for an engine has ended: it is lost, and the others go on. */
  #lose(index: number, error: EmaError): void {
    this.removeEngine(index);
    this.#onEngineLost(this.engines[index]!.name, error);
  }

  #wake(index: number): void {
    this.loop.touch(index);
    this.#schedule();
  }

  #wakeAll(): void {
    this.loop.touchAll();
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isClosed) return;
    this.#isScheduled = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    this.#isScheduled = false;
    if (this.#isClosed || this.failure !== null) return;
    try {
      this.#lost.settle(this.nowNs);
      this.loop.run(this.nowNs);
    } catch (error) {
      this.#fail(error);
      return;
    }
    if (this.#drained.length > 0 && this.engines.every(({ openCount }) => openCount === 0)) {
      for (const resolve of this.#drained) resolve();
      this.#drained = [];
    }
    this.#clearSome();
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const dueNs = this.loop.nextDueNs();
    if (dueNs === Infinity) return;
    const delayMs = Math.max(1, Math.ceil((dueNs - this.nowNs) / 1e6));
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#run();
    }, delayMs);
  }

  /** A bug has shown: nothing goes on. Who waits for tokens is told; it is nobody's to catch. */
  #fail(error: unknown): void {
    this.failure = error;
    for (const engine of this.engines) engine.lose();
    for (const resolve of this.#drained) resolve();
    this.#drained = [];
    throw error;
  }

  /** A little of what must be cleared before it is lent, between other work. */
  #clearSome(): void {
    this.#clearings.forEach((clearing, index) => {
      if (!clearing.hasWork) return;
      clearing.advance(CLEARED_BYTES_AT_ONCE);
      this.#wake(index);
    });
  }

  #createHub(pool: Pool): CopyHub {
    const { plan } = this;
    const { lenderShare } = plan.pool;
    const engineAt = new Map(plan.engines.map(({ device }, index) => [device, engineId(index)]));
    const copies = this.#devices.emulated.devices.map((device) => device.copies);
    return new CopyHub(copies, this.#devices.memories.length, (place) => {
      const engine = engineAt.get(place);
      if (engine === undefined || lenderShare === null || !pool.isRunning(engine)) return Infinity;
      const share = lenderShare * plan.cost.hbmBytesPerSecond;
      return share / Math.max(1, pool.borrowersOf(engine));
    });
  }

  #createRunner(index: number, tokens: TokenStore, pool: Pool, hub: CopyHub): RealRunner {
    const { plan } = this;
    const { geometry, place } = this.#devices.engines[index]!;
    const thread = this.threads[index]!;
    const now = (): number => this.nowNs;
    const epochSource: EpochSource = { epochOf: (row) => pool.epochOf(sliceId(row)) };
    const isBorrowed = isBorrowedBy(plan, pool, index);
    return new RealRunner({
      thread,
      staging: new Staging({ hub, geometry, device: place, gates: thread.gates, now }),
      hub,
      geometry,
      tokens,
      epochs: new EpochWatch(epochSource, isBorrowed, plan.layout.blocksPerSlice),
      epochSource,
      placeOf: this.#placeOf(index),
      now,
      clockStartNs: this.#clockStartNs,
    });
  }

  /** (sources) the engine's own device, every engine's, the host. */
  #placeOf(index: number): number[] {
    const devices = this.plan.engines.map(({ device }) => device);
    return [devices[index]!, ...devices, this.#devices.hostPlace];
  }
}

function machineNs(): number {
  return Number(process.hrtime.bigint());
}
