/**
 * The pool of a server of emulated devices, and what each served engine is told of its place in it.
 *
 * Used by servers in real and in virtual time.
 */

import { engineId } from "../base/index.ts";
import { WAIT_TIMES } from "../engine/index.ts";
import { Pool } from "../pool/index.ts";
import type { ServedEngineSettings } from "./served-engine.ts";
import type { ServerPlan } from "./server-plan.ts";

export function createPool(plan: ServerPlan): Pool {
  const count = plan.engines.length;
  const paths = new Float64Array(count * count);
  for (let lender = 0; lender < count; lender++) {
    for (let borrower = 0; borrower < count; borrower++) {
      const path = plan.topology.paths[lender * count + borrower];
      paths[lender * count + borrower] = path?.bytesPerSecond ?? 0;
    }
  }
  return new Pool({
    members: plan.engines.map(({ device }, index) => ({
      device,
      sliceCount: plan.ownSlices[index]!,
      borrowLimitSlices: plan.borrowLimitSlices(index),
    })),
    pathBytesPerSecond: paths,
    refillDeadlineNs: WAIT_TIMES.refillNs,
    accountWindowNs: WAIT_TIMES.accountWindowNs,
  });
}

/** Whether a slice is another engine's; the host's are nobody's. */
export function isBorrowedBy(
  plan: ServerPlan,
  pool: Pool,
  index: number,
): (row: number) => boolean {
  const firstRow = pool.firstSliceOf(engineId(index));
  const endRow = firstRow + plan.ownSlices[index]!;
  const sliceCount = plan.ownSlices.reduce((sum, slices) => sum + slices, 0);
  return (row) => row < sliceCount && (row < firstRow || row >= endRow);
}

export function servedEngineSettings(plan: ServerPlan, index: number): ServedEngineSettings {
  const { name, device } = plan.engines[index]!;
  return {
    name,
    device,
    contextTokensMax: plan.contextTokensMax(index),
    waitingMax: plan.limits.waitingMax,
    deviceOf: plan.engines.map((engine) => engine.device),
    sliceBytes: plan.layout.sliceBytes,
  };
}
