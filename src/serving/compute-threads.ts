/**
 * Starts the compute threads of a server, all or none.
 *
 * Called by the server in real time when it is made.
 */

import type { ModelConfig } from "../model/index.ts";
import { ComputeThread } from "./compute-handle.ts";
import type { ServerDevices } from "./server-devices.ts";
import type { ServerPlan } from "./server-plan.ts";

/**
 * @returns (engines) the thread of each
 * @throws EmaError E_DEVICE when one does not come up; the devices are closed then
 */
export async function startComputeThreads(
  devices: ServerDevices,
  plan: ServerPlan,
  config: ModelConfig,
): Promise<readonly ComputeThread[]> {
  const starting = devices.engines.map(({ place, decoder, scratch }, index) =>
    ComputeThread.start({
      handle: devices.emulated.handle,
      device: place,
      config,
      limits: plan.decoderLimits,
      place: decoder.place,
      layout: plan.layout,
      groupLayers: plan.groupLayers[index]!,
      scratch,
    }),
  );
  const outcomes = await Promise.allSettled(starting);
  const threads: ComputeThread[] = [];
  for (const outcome of outcomes) if (outcome.status === "fulfilled") threads.push(outcome.value);
  const failed = outcomes.find((outcome) => outcome.status === "rejected");
  if (failed === undefined) return threads;
  await Promise.all(threads.map((thread) => thread.close()));
  await devices.emulated.close();
  throw failed.reason;
}
