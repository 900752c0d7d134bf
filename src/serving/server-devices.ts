/**
 * The devices of a server with everything in them: KV slices, weights, workspaces, host memory.
 *
 * Made once when a server starts. Slices are created here and never again: lending changes who may
 * use one, not where it lies. It knows addresses, not who uses them.
 */

import { EmaError, formatBytes } from "../base/index.ts";
import {
  createEmulatedServer,
  type DeviceMemory,
  type EmulatedDevice,
  type EmulatedServer,
} from "../device/index.ts";
import { Decoder } from "../model/index.ts";
import { KvGeometry } from "./kv-geometry.ts";
import type { ServedServerOptions } from "./server-options.ts";
import type { ServerPlan } from "./server-plan.ts";
import type { ScratchBlock } from "./step-execution.ts";

/** What one engine has on its device. */
export interface EngineDevice {
  readonly device: EmulatedDevice;
  /** Its place among all places of the server. */
  readonly place: number;
  readonly decoder: Decoder;
  readonly scratch: ScratchBlock;
  readonly geometry: KvGeometry;
}

export interface ServerDevices {
  readonly emulated: EmulatedServer;
  readonly engines: readonly EngineDevice[];
  /** Of every place: devices, then the host. */
  readonly memories: readonly DeviceMemory[];
  readonly hostPlace: number;
}

/** @throws EmaError E_MODEL_FIT, E_DEVICE, or what reading the checkpoint throws */
export async function createServerDevices(
  options: ServedServerOptions,
  plan: ServerPlan,
  time: "real" | "virtual",
): Promise<ServerDevices> {
  const { deviceBytes, checkpoint } = options;
  const emulated = await createEmulatedServer({
    devices: deviceBytes.map((capacityBytes) => ({ capacityBytes })),
    hosts: [{ capacityBytes: plan.kvBytes }],
    links: plan.links,
    time,
    ...(options.kernels === undefined ? {} : { kernels: options.kernels }),
    ...(options.memory === undefined ? {} : { memory: options.memory }),
  });
  try {
    const { sliceBytes } = plan.layout;
    const host = take(emulated.hosts[0]!.memory, plan.kvBytes);
    const bases = plan.engines.map(({ device }, index) => {
      const { memory } = emulated.devices[device]!;
      return take(memory, plan.ownSlices[index]! * sliceBytes);
    });
    const own = plan.ownSlices.flatMap((slices, index) =>
      rowsFrom(bases[index]!, slices, sliceBytes),
    );
    let hostBase = host;
    const engines = plan.engines.map(({ device: place }, index): EngineDevice => {
      const device = emulated.devices[place]!;
      const hostRows = plan.isElastic ? rowsFrom(hostBase, plan.ownSlices[index]!, sliceBytes) : [];
      hostBase += plan.ownSlices[index]! * sliceBytes;
      const rows = Float64Array.from([...own, ...hostRows]);
      const geometry = new KvGeometry(plan.layout, plan.groupLayers[index]!, rows);
      const { memory, compute } = device;
      const parts = { config: checkpoint.config, memory, compute, limits: plan.decoderLimits };
      const decoder = new Decoder(parts, checkpoint.weights);
      const scratch = { address: take(memory, geometry.groupBlockBytes(0)) };
      return { device, place, decoder, scratch, geometry };
    });
    const devices = emulated.devices.map(({ memory }) => memory);
    const memories = [...devices, emulated.hosts[0]!.memory];
    return { emulated, engines, memories, hostPlace: emulated.devices.length };
  } catch (error) {
    await emulated.close();
    throw error;
  }
}

function take(memory: DeviceMemory, bytes: number): number {
  const address = memory.allocate(bytes);
  if (address !== null) return address;
  const free = formatBytes(memory.freeBytes);
  const text = `${formatBytes(bytes)} do not fit: ${free} of the device are free`;
  throw new EmaError("E_MODEL_FIT", text);
}

function rowsFrom(base: number, count: number, sliceBytes: number): number[] {
  return Array.from({ length: count }, (_, row) => base + row * sliceBytes);
}
