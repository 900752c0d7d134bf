/**
 * Gives a served engine the engine that it serves with.
 *
 * Used by servers in real and in virtual time, once an engine. It knows neither: how steps run and
 * bytes move is in what it is given.
 */

import { Engine, type CopyEngine, type StepRunner } from "../engine/index.ts";
import type { Pool } from "../pool/index.ts";
import type { ServedEngine } from "./served-engine.ts";
import type { EngineDevice } from "./server-devices.ts";
import type { ServerPlan } from "./server-plan.ts";
import { EmulatedClearing } from "./slice-clearing.ts";

export interface EngineWorld {
  readonly pool: Pool;
  readonly runner: StepRunner;
  readonly copies: CopyEngine;
  readonly device: EngineDevice;
}

/** @returns what clears the engine's slices: it has work only where there are several tenants. */
export function connectEngine(
  served: ServedEngine,
  plan: ServerPlan,
  index: number,
  { pool, runner, copies, device }: EngineWorld,
): EmulatedClearing {
  const clearing = new EmulatedClearing(device.device.memory, device.geometry);
  const options = plan.engineOptions(index);
  const settings = plan.hasTenants ? { ...options, clearing } : options;
  served.connect(new Engine(settings, pool, runner, copies, served));
  return clearing;
}
