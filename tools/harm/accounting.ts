/**
 * What must hold in every run, whatever the lender's share: requests and bytes are accounted for.
 *
 * Called by the sweep on records of `simulate`. It is told nothing by the pool: it adds up what
 * engines report of themselves.
 */

import type { EngineRecord, RunRecord } from "../../src/sim/index.ts";

/** @returns a line for each thing that does not add up. */
export function accountingErrors(run: RunRecord): string[] {
  return [
    ...run.engines.flatMap((engine) => requestErrors(engine)),
    ...run.engines.flatMap((engine, index) => memoryErrors(run, engine, index)),
    ...loanErrors(run),
    ...run.recalls
      .filter(({ slices, waitNs }) => !(slices > 0 && waitNs >= 0 && Number.isFinite(waitNs)))
      .map(({ slices, waitNs }) => `a recall of ${slices} slices waited ${waitNs} ns`),
  ];
}

function requestErrors({ name, requests }: EngineRecord): string[] {
  const errors: string[] = [];
  for (let row = 0; row < requests.count; row++) {
    const firstNs = requests.firstTokenNs[row]!;
    const lastNs = requests.lastTokenNs[row]!;
    const hasFinished = !Number.isNaN(lastNs);
    const hasFailed = requests.failure[row] !== null;
    if (hasFinished === hasFailed) {
      errors.push(`${name}: request ${row} finished ${hasFinished}, failed ${hasFailed}`);
    } else if (hasFinished && !(firstNs > requests.arrivalNs[row]! && lastNs >= firstNs)) {
      errors.push(`${name}: request ${row} has its first token at ${firstNs}, last at ${lastNs}`);
    }
  }
  return errors;
}

function memoryErrors(run: RunRecord, engine: EngineRecord, index: number): string[] {
  const errors: string[] = [];
  const { name, kvBytesCapacity, borrowLimitBytes, borrowed, lent } = engine;
  if (borrowLimitBytes !== null && borrowed.maxBytes > borrowLimitBytes) {
    errors.push(`${name}: borrowed ${borrowed.maxBytes} of at most ${borrowLimitBytes} bytes`);
  }
  if (lent.maxBytes > kvBytesCapacity) {
    errors.push(`${name}: lent ${lent.maxBytes} of ${kvBytesCapacity} bytes`);
  }
  for (const { timeNs, ownBytes, lentBytes, freeBytes } of run.samples[index]!) {
    const all = ownBytes + lentBytes + freeBytes;
    if (all !== kvBytesCapacity || Math.min(ownBytes, lentBytes, freeBytes) < 0) {
      errors.push(`${name}: own ${ownBytes}, lent ${lentBytes}, free ${freeBytes} at ${timeNs}`);
    }
  }
  return errors;
}

/** What all engines have lent is what all have borrowed, at every sample. */
function loanErrors(run: RunRecord): string[] {
  const errors: string[] = [];
  const count = run.samples[0]?.length ?? 0;
  for (let at = 0; at < count; at++) {
    let lentBytes = 0;
    let borrowedBytes = 0;
    for (const list of run.samples) {
      lentBytes += list[at]!.lentBytes;
      borrowedBytes += list[at]!.borrowedBytes;
    }
    if (lentBytes !== borrowedBytes) {
      const { timeNs } = run.samples[0]![at]!;
      errors.push(`${lentBytes} lent and ${borrowedBytes} borrowed at ${timeNs}`);
    }
  }
  return errors;
}
