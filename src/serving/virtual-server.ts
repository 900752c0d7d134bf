/**
 * A server of emulated devices in virtual time: real bytes, real tokens, a clock that jumps.
 *
 * Used by tests and by whoever wants the same run twice. Everything but the clock and the threads
 * is what a server in real time has.
 */

import { assert, engineId, sliceId } from "../base/index.ts";
import type { Pool } from "../pool/index.ts";
import { CostedCopies, CostedRunner, ServerLoad } from "../sim/index.ts";
import { ByteMover } from "./byte-mover.ts";
import { connectEngine } from "./connect-engine.ts";
import { EpochWatch } from "./epoch-watch.ts";
import { createPool, isBorrowedBy, servedEngineSettings } from "./server-pool.ts";
import { createServerDevices, type ServerDevices } from "./server-devices.ts";
import { ServedEngine } from "./served-engine.ts";
import type { ServedServerOptions } from "./server-options.ts";
import { ServerLoop } from "./server-loop.ts";
import { ServerPlan } from "./server-plan.ts";
import type { EmulatedClearing } from "./slice-clearing.ts";
import { StepExecution } from "./step-execution.ts";
import { TokenStore } from "./token-store.ts";
import { VirtualCopies } from "./virtual-copies.ts";
import { VirtualRunner } from "./virtual-runner.ts";

export class VirtualServer {
  readonly loop: ServerLoop;
  readonly plan: ServerPlan;
  readonly runners: readonly VirtualRunner[];
  readonly clearings: EmulatedClearing[] = [];
  nowNs = 0;
  readonly #devices: ServerDevices;

  private constructor(plan: ServerPlan, devices: ServerDevices) {
    this.plan = plan;
    this.#devices = devices;
    const pool = createPool(plan);
    const { interference, lenderShare } = plan.pool;
    const load = new ServerLoad(plan.topology, interference, lenderShare);
    const mover = new ByteMover(devices.memories);
    const runners: VirtualRunner[] = [];
    const engines = plan.engines.map((_, index) => {
      const tokens = new TokenStore();
      const runner = this.#createRunner(index, tokens, pool, load, mover);
      runners.push(runner);
      const host = { nowNs: () => this.nowNs, wake: () => this.loop.touch(index) };
      const served = new ServedEngine(servedEngineSettings(plan, index), tokens, runner, host);
      const copies = this.#createCopies(index, pool, load, mover);
      const world = { pool, runner, copies, device: devices.engines[index]! };
      this.clearings.push(connectEngine(served, plan, index, world));
      return served;
    });
    this.runners = runners;
    this.loop = new ServerLoop(engines, pool);
  }

  static async create(options: ServedServerOptions): Promise<VirtualServer> {
    const plan = new ServerPlan(options);
    return new VirtualServer(plan, await createServerDevices(options, plan, "virtual"));
  }

  get engines(): readonly ServedEngine[] {
    return this.loop.engines;
  }

  /** Goes to whatever is due next. @returns false when nothing is. */
  step(): boolean {
    const dueNs = this.loop.nextDueNs();
    if (dueNs === Infinity) return false;
    this.nowNs = Math.max(this.nowNs, dueNs);
    this.loop.run(this.nowNs);
    this.clearings.forEach((clearing, index) => {
      if (!clearing.hasWork) return;
      clearing.advance(Infinity);
      this.loop.touch(index);
    });
    return true;
  }

  /** Lets time pass until `untilNs`, whatever happens before. */
  runUntil(untilNs: number): void {
    assert(untilNs >= this.nowNs, () => `virtual server: back from ${this.nowNs} to ${untilNs}`);
    while (this.loop.nextDueNs() <= untilNs) this.step();
    this.nowNs = untilNs;
  }

  /** Until every generation has ended. */
  runOut(): void {
    while (this.engines.some(({ openCount }) => openCount > 0) && this.step()) continue;
  }

  /** A copy of what lies in a slice, for tests that look for remains. */
  sliceBytes(row: number): Uint8Array {
    const { geometry, device } = this.#devices.engines[0]!;
    const bytes = new Uint8Array(this.plan.layout.sliceBytes);
    device.memory.read(geometry.rowAddress[row]!, bytes);
    return bytes;
  }

  async close(): Promise<void> {
    await this.#devices.emulated.close();
  }

  #createRunner(
    index: number,
    tokens: TokenStore,
    pool: Pool,
    load: ServerLoad,
    mover: ByteMover,
  ): VirtualRunner {
    const { plan } = this;
    const { decoder, geometry, scratch } = this.#devices.engines[index]!;
    const { link } = plan.engineOptions(index);
    const engines = plan.engines.map((_, other) => (other === index ? -1 : other));
    const costed = new CostedRunner(
      {
        gpu: index,
        layers: plan.layout.layers,
        link,
        gpuOfSource: Int32Array.of(-1, ...engines, -1),
        portOfGpu: Float64Array.from(plan.topology.gpus, (gpu) => gpu.portBytesPerSecond),
      },
      load,
    );
    return new VirtualRunner({
      costed,
      resumeGroup: () => costed.resumeGroup,
      geometry,
      tokens,
      execution: new StepExecution(decoder, geometry, scratch),
      mover,
      epochs: new EpochWatch(
        { epochOf: (row) => pool.epochOf(sliceId(row)) },
        isBorrowedBy(plan, pool, index),
        plan.layout.blocksPerSlice,
      ),
    });
  }

  #createCopies(index: number, pool: Pool, load: ServerLoad, mover: ByteMover): VirtualCopies {
    const { plan } = this;
    const { gpus, paths } = plan.topology;
    const { link, lenderShare } = plan.engineOptions(index);
    const costed = new CostedCopies(
      {
        gpu: index,
        gpuOfSource: Int32Array.of(index, ...gpus.keys(), -1),
        gpuCount: gpus.length,
        pathBytesPerSecond: Float64Array.from(paths, (path) => path?.bytesPerSecond ?? 0),
        hostBytesPerSecond: gpus[index]!.hostBytesPerSecond,
        copyCostNs: link.copyCostNs,
        latencyNs: link.latencyNs,
        paceOf: (gpu) => {
          const lender = engineId(gpu);
          if (lenderShare === null || !pool.isRunning(lender)) return Infinity;
          const share = lenderShare * gpus[gpu]!.hbmBytesPerSecond;
          return share / Math.max(1, pool.borrowersOf(lender));
        },
      },
      load,
    );
    return new VirtualCopies(costed, this.#devices.engines[index]!.geometry, mover);
  }
}
