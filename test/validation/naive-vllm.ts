/**
 * vLLM V1's scheduling with one step in flight, written plainly: the model that replays are held
 * to.
 *
 * Used by replay.test.ts. It shares no code with the engine: requests are objects, the free queue
 * is an array of block numbers, a step costs what a formula says. Facts are those of vLLM 0.19:
 * running requests first, in order; the youngest gives way and goes to the front of the queue;
 * nobody is admitted in a step that preempts; a whole prompt has to fit; freed blocks go to the
 * back of the free queue, last block first, and are found again by their owner until they are
 * taken.
 */

export interface NaiveRequest {
  readonly queuedNs: number;
  readonly prompt: number;
  readonly output: number;
}

export interface NaiveSetup {
  readonly blocks: number;
  readonly blockTokens: number;
  readonly sequencesMax: number;
  readonly tokensMax: number;
  readonly isAsync: boolean;
  readonly isCached: boolean;
  /** Of a step with so many query tokens, sampled sequences and KV tokens of decodes. */
  stepNs(queryTokens: number, sampled: number): number;
}

export interface NaiveTimes {
  readonly taken: number[];
  readonly first: number[];
  readonly last: number[];
  preemptions: number;
  restored: number;
}

interface Live {
  readonly id: number;
  readonly prompt: number;
  readonly output: number;
  computed: number;
  generated: number;
  placeholders: number;
  blocks: number[];
}

interface Step {
  readonly entries: { live: Live; isSampled: boolean }[];
  readonly endNs: number;
}

export function naiveVllm(requests: readonly NaiveRequest[], setup: NaiveSetup): NaiveTimes {
  const waiting: Live[] = [];
  const running: Live[] = [];
  const free = Array.from({ length: setup.blocks }, (_, block) => block);
  const held = new Map<number, string>();
  const times: NaiveTimes = { taken: [], first: [], last: [], preemptions: 0, restored: 0 };
  const flying: Step[] = [];
  let next = 0;
  let nowNs = 0;
  let deviceFreeNs = 0;

  const needed = (tokens: number): number => Math.ceil(tokens / setup.blockTokens);
  const extend = (live: Live, tokens: number): boolean => {
    const missing = needed(tokens) - live.blocks.length;
    if (missing > free.length) return false;
    for (let left = missing; left > 0; left--) {
      const block = free.shift()!;
      held.delete(block);
      live.blocks.push(block);
    }
    return true;
  };
  const release = (live: Live): void => {
    free.push(...live.blocks.toReversed());
    live.blocks = [];
  };
  const preempt = (live: Live): void => {
    running.splice(running.indexOf(live), 1);
    const known = Math.min(live.prompt + live.generated, live.computed);
    for (let at = 0; at < Math.floor(known / setup.blockTokens); at++) {
      held.set(live.blocks[at]!, `${live.id}/${at}`);
    }
    release(live);
    live.computed = 0;
    live.placeholders = 0;
    waiting.unshift(live);
    times.preemptions++;
  };
  const restore = (live: Live): void => {
    const most = Math.floor((live.prompt + live.generated - 1) / setup.blockTokens);
    for (let at = 0; at < most; at++) {
      const place = free.findIndex((block) => held.get(block) === `${live.id}/${at}`);
      if (place < 0) break;
      const [block] = free.splice(place, 1);
      held.delete(block!);
      live.blocks.push(block!);
      live.computed += setup.blockTokens;
      times.restored += setup.blockTokens;
    }
  };

  const schedule = (): Step | null => {
    const entries: { live: Live; tokens: number }[] = [];
    let budget = setup.tokensMax;
    let hasPreempted = false;
    for (let at = 0; at < running.length && budget > 0; at++) {
      const live = running[at]!;
      if (live.generated + live.placeholders >= live.output) continue;
      const pending = live.prompt + live.generated + live.placeholders - live.computed;
      const tokens = Math.min(pending, budget);
      let isOut = false;
      while (!extend(live, live.computed + tokens)) {
        const victim = running.at(-1)!;
        preempt(victim);
        hasPreempted = true;
        isOut = victim === live;
        if (isOut) break;
      }
      if (isOut) break;
      entries.push({ live, tokens });
      budget -= tokens;
    }
    while (waiting.length > 0 && budget > 0) {
      if (hasPreempted || running.length === setup.sequencesMax) break;
      const live = waiting[0]!;
      if (needed(live.prompt + live.generated) > free.length) break;
      waiting.shift();
      running.push(live);
      if (setup.isCached) restore(live);
      const tokens = Math.min(live.prompt + live.generated - live.computed, budget);
      extend(live, live.computed + tokens);
      entries.push({ live, tokens });
      budget -= tokens;
    }
    if (entries.length === 0) return null;
    const step: Step["entries"] = [];
    let query = 0;
    let sampled = 0;
    for (const { live, tokens } of entries) {
      live.computed += tokens;
      query += tokens;
      const isSampled = live.computed >= live.prompt + live.generated + live.placeholders;
      if (isSampled) {
        live.placeholders++;
        sampled++;
      }
      step.push({ live, isSampled });
    }
    deviceFreeNs = Math.max(deviceFreeNs, nowNs) + Math.round(setup.stepNs(query, sampled));
    return { entries: step, endNs: deviceFreeNs };
  };

  const land = (step: Step): void => {
    nowNs = step.endNs;
    for (const { live, isSampled } of step.entries) {
      if (!isSampled) continue;
      live.placeholders = Math.max(0, live.placeholders - 1);
      live.generated++;
      if (live.generated === 1) times.first[live.id] = nowNs;
      if (live.generated < live.output) continue;
      times.last[live.id] = nowNs;
      const queue = running.includes(live) ? running : waiting;
      queue.splice(queue.indexOf(live), 1);
      release(live);
    }
  };

  for (;;) {
    while (next < requests.length && requests[next]!.queuedNs <= nowNs) {
      const { prompt, output } = requests[next]!;
      times.taken[next] = nowNs;
      const state = { computed: 0, generated: 0, placeholders: 0, blocks: [] };
      waiting.push({ id: next, prompt, output, ...state });
      next++;
    }
    const step = schedule();
    if (step !== null) flying.push(step);
    if (step !== null && flying.length < (setup.isAsync ? 2 : 1)) continue;
    if (flying.length > 0) {
      land(flying.shift()!);
    } else if (waiting.length === 0 && running.length === 0) {
      if (next === requests.length) return times;
      nowNs = requests[next]!.queuedNs;
    }
  }
}
