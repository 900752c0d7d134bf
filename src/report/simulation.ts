/**
 * The report's one door to the simulator: the types of what a run leaves and of what starts one.
 *
 * Every file of this folder takes them from here. The simulator itself is given by the command
 * (composition root), so that comparisons can be tested on hand-made records.
 */

import type { Scenario, SystemSettings } from "../scenario/index.ts";
import type { AdmissionSetting, RunRecord } from "../sim/index.ts";

export type {
  AdmissionSetting,
  ByteGauge,
  EngineRecord,
  FailureReason,
  GapLog,
  LinkRecord,
  MemorySample,
  RecallRecord,
  RequestLog,
  RunRecord,
  Window,
} from "../sim/index.ts";

/** What `compare` needs of a simulator: it is run once per system, admission setting and seed. */
export interface Simulator {
  /** The short list every system picks its best from; never empty. */
  readonly admissionSettings: readonly AdmissionSetting[];
  /**
   * Deterministic and synchronous; `onProgress` gets a share in [0, 1].
   * @throws EmaError E_SYSTEM when the system cannot run the scenario.
   */
  simulate(
    scenario: Scenario,
    system: SystemSettings,
    seed: number,
    admission: AdmissionSetting,
    onProgress?: (doneShare: number) => void,
  ): RunRecord;
}
