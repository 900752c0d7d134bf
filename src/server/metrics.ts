/**
 * What the server counts about itself, in Prometheus' form.
 *
 * One a server. Engines' own figures are read when they are scraped; times of generations are told
 * by the generation desk as they happen. Names are vLLM's where it has the figure (vLLM
 * documentation, "Production Metrics"), `ema_` before what only this server has.
 *
 * Invariant: label values are the names of engines and models that are served and of outcomes, so
 * the number of series is bounded whatever clients send.
 */

import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { ServedModelLoad } from "../serving/index.ts";
import type { EngineDirectory } from "./engine-directory.ts";
import type { Outcome } from "./generation-desk.ts";

/** Seconds; from a step of a small model on a CPU to a long wait in a queue. */
const FIRST_TOKEN_BUCKETS = [0.001, 0.005, 0.01, 0.02, 0.04, 0.08, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const TOKEN_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.2, 0.5, 1, 2.5];
const REQUEST_BUCKETS = [0.01, 0.05, 0.1, 0.3, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 480];

/** What becomes of one generation, as it becomes known. */
export interface GenerationTimes {
  /** @param count tokens that have just come. */
  tokens(count: number): void;
  end(outcome: Outcome): void;
}

/** The server's registry and what is written into it. */
export class ServerMetrics {
  readonly #registry = new Registry();
  readonly #clockSeconds: () => number;
  readonly #firstToken: Histogram<"model_name">;
  readonly #betweenTokens: readonly Histogram<"model_name">[];
  readonly #wholeRequest: Histogram<"model_name">;
  readonly #finished: Counter<"model_name" | "finished_reason">;

  /** @param clockSeconds only goes forward; where it begins does not matter. */
  constructor(directory: EngineDirectory, clockSeconds: () => number) {
    this.#clockSeconds = clockSeconds;
    this.#addLoads(directory);
    this.#firstToken = this.#histogram(
      "vllm:time_to_first_token_seconds",
      "From a request's arrival to its first token.",
      FIRST_TOKEN_BUCKETS,
    );
    // Recent vLLM has the second name for what older dashboards ask for by the first.
    this.#betweenTokens = [
      "vllm:time_per_output_token_seconds",
      "vllm:inter_token_latency_seconds",
    ].map((name) => this.#histogram(name, "From one token to the next.", TOKEN_BUCKETS));
    this.#wholeRequest = this.#histogram(
      "vllm:e2e_request_latency_seconds",
      "From a request's arrival to its last token.",
      REQUEST_BUCKETS,
    );
    this.#finished = new Counter({
      name: "vllm:request_success_total",
      help: "Generations that have ended, by how: stop, length, abort, error.",
      labelNames: ["model_name", "finished_reason"],
      registers: [this.#registry],
    });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** A generation was accepted just now. */
  begin(modelName: string): GenerationTimes {
    const labels = { model_name: modelName };
    const beganAt = this.#clockSeconds();
    let lastAt: number | null = null;
    return {
      tokens: (count) => {
        const now = this.#clockSeconds();
        if (lastAt === null) this.#firstToken.observe(labels, now - beganAt);
        else {
          // Tokens seen together share the time since those before them.
          for (const histogram of this.#betweenTokens) {
            for (let i = 0; i < count; i++) histogram.observe(labels, (now - lastAt) / count);
          }
        }
        lastAt = now;
      },
      end: (outcome) => {
        this.#finished.inc({ ...labels, finished_reason: outcome });
        if (outcome === "stop" || outcome === "length") {
          this.#wholeRequest.observe(labels, this.#clockSeconds() - beganAt);
        }
      },
    };
  }

  #histogram(name: string, help: string, buckets: number[]): Histogram<"model_name"> {
    const registers = [this.#registry];
    return new Histogram({ name, help, labelNames: ["model_name"], buckets, registers });
  }

  #addLoads(directory: EngineDirectory): void {
    for (const { name, help, isCounter, value } of LOADS) {
      const labelNames = ["model_name", "engine"] as const;
      const loads = () =>
        directory.engines.map(({ modelName, engineName, model }) => ({
          labels: { model_name: modelName, engine: engineName },
          value: value(model.load()),
        }));
      const registers = [this.#registry];
      const common = { name, help, labelNames, registers };
      if (isCounter) {
        const counter: Counter<(typeof labelNames)[number]> = new Counter({
          ...common,
          // The engine counts; this shows its count.
          collect: () => {
            counter.reset();
            for (const load of loads()) counter.inc(load.labels, load.value);
          },
        });
      } else {
        const gauge: Gauge<(typeof labelNames)[number]> = new Gauge({
          ...common,
          collect: () => {
            for (const load of loads()) gauge.set(load.labels, load.value);
          },
        });
      }
    }
  }
}

interface LoadMetric {
  readonly name: string;
  readonly help: string;
  readonly isCounter: boolean;
  readonly value: (load: ServedModelLoad) => number;
}

const gauge = (name: string, help: string, value: LoadMetric["value"]): LoadMetric => {
  return { name, help, value, isCounter: false };
};
const counter = (name: string, help: string, value: LoadMetric["value"]): LoadMetric => {
  return { name, help, value, isCounter: true };
};

const LOADS: readonly LoadMetric[] = [
  gauge("vllm:num_requests_running", "Requests in the engine's batch.", (load) => load.running),
  gauge("vllm:num_requests_waiting", "Requests that wait for it.", (load) => load.waiting),
  gauge("vllm:kv_cache_usage_perc", "Used share of KV memory, 0 to 1.", (load) => load.kvUsedShare),
  counter("vllm:num_preemptions_total", "Preemptions.", (load) => load.preemptions),
  counter("vllm:prompt_tokens_total", "Prompt tokens computed.", (load) => load.promptTokens),
  counter("vllm:generation_tokens_total", "Tokens generated.", (load) => load.generatedTokens),
  gauge("ema_kv_local_bytes", "KV bytes in the engine's own memory.", (load) => load.kvLocalBytes),
  gauge("ema_kv_borrowed_bytes", "KV bytes on other devices.", (load) => load.kvBorrowedBytes),
  gauge("ema_kv_lent_bytes", "Bytes of own memory that others use.", (load) => load.kvLentBytes),
  gauge("ema_kv_host_bytes", "KV bytes in host memory.", (load) => load.kvHostBytes),
];
