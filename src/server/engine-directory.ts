/**
 * Engines by name, and which of several that serve one model takes a request.
 *
 * Asked by the routes, once a request. A model's name stands for all engines that serve it; an
 * engine's own name for that one. Among several the one with the fewest outstanding tokens takes
 * the request: prompt and allowed output of all that it was given and has not ended, less what it
 * has produced. Counting requests instead would send a long prompt behind another long prompt.
 *
 * Invariant: a generation is in `#live` exactly from its submission until it has ended.
 */

import type { Generation } from "../serving/index.ts";
import type { HostedEngine } from "./hosted-engine.ts";

/** One name that clients may ask for. */
export interface ModelCard {
  readonly id: string;
  readonly contextTokensMax: number;
  /** The model that an engine's own name stands for, or null for a model's name. */
  readonly parent: string | null;
}

/** What the server knows of the engines behind it. */
export class EngineDirectory {
  readonly engines: readonly HostedEngine[];
  readonly #live = new Map<HostedEngine, Set<Generation>>();

  constructor(engines: readonly HostedEngine[]) {
    this.engines = engines;
    for (const engine of engines) this.#live.set(engine, new Set());
  }

  /** Models first, then single engines where a model has several. */
  cards(): ModelCard[] {
    const models = new Map<string, HostedEngine[]>();
    for (const engine of this.engines) {
      models.set(engine.modelName, [...(models.get(engine.modelName) ?? []), engine]);
    }
    const cards: ModelCard[] = [];
    for (const [id, engines] of models) {
      const tokens = engines.map(({ model }) => model.contextTokensMax);
      cards.push({ id, contextTokensMax: Math.min(...tokens), parent: null });
    }
    for (const [parent, engines] of models) {
      if (engines.length === 1) continue;
      for (const { engineName, model } of engines) {
        cards.push({ id: engineName, contextTokensMax: model.contextTokensMax, parent });
      }
    }
    return cards;
  }

  /** Every name that `pick` answers to. */
  names(): string[] {
    return this.cards().map(({ id }) => id);
  }

  /** @returns the engine to ask for `name`, or null when nobody answers to it. */
  pick(name: string): HostedEngine | null {
    const named = this.engines.find(({ engineName }) => engineName === name);
    if (named !== undefined) return named;
    let least: HostedEngine | null = null;
    let leastTokens = Infinity;
    for (const engine of this.engines) {
      if (engine.modelName !== name || engine.model.isLost) continue;
      const tokens = this.outstandingTokens(engine);
      if (tokens < leastTokens) {
        least = engine;
        leastTokens = tokens;
      }
    }
    // With all of them lost, whichever is asked says so.
    return least ?? this.engines.find(({ modelName }) => modelName === name) ?? null;
  }

  /** Tokens that an engine may still have to compute for what was routed to it. */
  outstandingTokens(engine: HostedEngine): number {
    let tokens = 0;
    for (const { request, tokenCount } of this.#live.get(engine)!) {
      tokens += request.promptIds.length + request.outputTokensMax - tokenCount;
    }
    return tokens;
  }

  /** Counts a generation until it has ended; whoever submits it says both. */
  begin(engine: HostedEngine, generation: Generation): void {
    this.#live.get(engine)!.add(generation);
  }

  end(engine: HostedEngine, generation: Generation): void {
    this.#live.get(engine)!.delete(generation);
  }

  /** Every generation that has not ended. */
  live(): Generation[] {
    return [...this.#live.values()].flatMap((generations) => [...generations]);
  }
}
