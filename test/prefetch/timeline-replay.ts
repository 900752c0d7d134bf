/**
 * A second replay of a step, tick by tick, that shares nothing with the timeline but the rules.
 *
 * Used by the timeline's tests. All times are whole nanoseconds and there is one lender, so that
 * the two must agree to the nanosecond.
 */

export interface TickStep {
  hostNs: number;
  headNs: number;
  layers: number;
  groupLayers: number;
  /** Per layer, slowdown and staged writes included. */
  linearNs: number;
  /** Per layer: what attention takes in local HBM, slowdown included. */
  attentionNs: number;
  /** Per layer: direct reads on the port. */
  directNs: number;
  /** Per layer: staged bytes on the port. */
  stagedNs: number;
  /** Per group: copy costs. */
  copyNs: number;
  latencyNs: number;
  /** At most 0: the first group's copies could begin then; `null`: only with the step. */
  aheadNs: number | null;
}

export interface TickResult {
  groupEndNs: number[];
  endNs: number;
  stagedWaitNs: number;
  hits: number;
  lates: number;
  misses: number;
}

interface Train {
  leftNs: number;
  /** When its slot became free, or `null` while it is in use. */
  slotFreeNs: number | null;
  hasBegun: boolean;
}

export function replayByTicks(step: TickStep): TickResult {
  const groupCount = Math.ceil(step.layers / step.groupLayers);
  const sizes = Array.from({ length: groupCount }, (_, group) =>
    Math.min(step.groupLayers, step.layers - group * step.groupLayers),
  );
  const isStaged = step.stagedNs > 0 || step.copyNs > 0;
  const trains: Train[] = sizes.map((size, group) => ({
    leftNs: isStaged ? step.copyNs + size * step.stagedNs : 0,
    slotFreeNs: group === 0 ? (step.aheadNs ?? 0) : group === 1 ? 0 : null,
    hasBegun: false,
  }));
  const result: TickResult = {
    groupEndNs: [],
    endNs: 0,
    stagedWaitNs: 0,
    hits: 0,
    lates: 0,
    misses: 0,
  };
  let group = 0;
  let phase: "host" | "linear" | "wait" | "attention" = "host";
  let phaseLeftNs = step.hostNs;
  let directLeftNs = 0;
  let hasCounted = false;
  for (let now = Math.min(step.aheadNs ?? 0, 0); ; now++) {
    // Compute: as many transitions as this instant allows.
    for (;;) {
      if (now < 0) break;
      if (phase === "host" && phaseLeftNs === 0) {
        phase = "linear";
        phaseLeftNs = sizes[0]! * step.linearNs;
      } else if (phase === "linear" && phaseLeftNs === 0) {
        phase = "wait";
        hasCounted = false;
      } else if (phase === "wait") {
        const train = trains[group]!;
        if (isStaged && !hasCounted) {
          if (train.leftNs === 0) result.hits++;
          else if (train.hasBegun) result.lates++;
          else result.misses++;
          hasCounted = true;
        }
        if (train.leftNs > 0) break;
        phase = "attention";
        phaseLeftNs = sizes[group]! * Math.max(step.attentionNs, step.directNs);
        directLeftNs = sizes[group]! * step.directNs;
      } else if (phase === "attention" && phaseLeftNs === 0) {
        result.groupEndNs.push(now);
        const slotUser = trains[group + 2];
        if (slotUser !== undefined) slotUser.slotFreeNs = now;
        group++;
        if (group === groupCount) {
          result.endNs = now + step.headNs;
          return result;
        }
        phase = "linear";
        phaseLeftNs = sizes[group]! * step.linearNs;
      } else {
        break;
      }
    }
    // Port: direct reads first, else the first train that is not through, in order.
    const train = trains.find((candidate) => candidate.leftNs > 0);
    if (directLeftNs > 0) {
      directLeftNs--;
    } else if (train !== undefined && train.slotFreeNs !== null) {
      if (now >= train.slotFreeNs + step.latencyNs) {
        train.leftNs--;
        train.hasBegun = true;
      }
    }
    if (now < 0) continue;
    if (phase === "wait") result.stagedWaitNs++;
    else phaseLeftNs--;
  }
}
