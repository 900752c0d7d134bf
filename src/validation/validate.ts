/**
 * Replays the log of a real run and compares: files in, twelve statistics of both sides out.
 *
 * Called by the command `ema validate`. It ties the readers, the replay and the statistics together
 * and decides nothing; it prints nothing.
 */

import { findModel } from "../hardware/index.ts";
import { blockCountOf, costModelOf, gpuOf } from "./machine.ts";
import { readProfile } from "./profile-folder.ts";
import { replay } from "./replay.ts";
import { readRequestLog } from "./request-log.ts";
import { readRunMeta, type Assumed } from "./run-meta.ts";
import { compareRuns, type Validation } from "./statistics.ts";

/** What the command line says; `null` where it says nothing. */
export interface ValidateInputs {
  readonly requestsPath: string;
  readonly metaPath: string;
  readonly profileFolder: string | null;
  readonly profileName: string | null;
  readonly gpu: string | null;
  readonly blockCount: number | null;
}

/** @throws EmaError on every kind of bad input. */
export function validate(inputs: ValidateInputs): Validation {
  const assumed: Assumed = {};
  const meta = readRunMeta(inputs.metaPath, assumed);
  const log = readRequestLog(inputs.requestsPath);
  const { profileFolder } = inputs;
  const profile = profileFolder === null ? null : readProfile(profileFolder, inputs.profileName);
  const model = findModel(meta.modelName);
  if (meta.contextTokensMax === null) assumed["max_model_len"] = model.contextTokensMax;
  const gpu = gpuOf(inputs.gpu, meta, profile, assumed);
  const blockCount = blockCountOf(inputs.blockCount, meta, gpu, model, assumed);
  const cost = costModelOf(gpu, model, meta, profile, assumed);
  const run = replay(log, { gpu, model, meta, cost, blockCount });
  if (run.failed > 0) assumed["failed_requests"] = run.failed;
  return { statistics: compareRuns(log, run), requests: log.count, assumed };
}
