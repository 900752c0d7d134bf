/**
 * One engine that serves a model: generations in, tokens out, at the times it is given.
 *
 * Implements ServedModel for the HTTP layer and EngineSink for its engine. The loop ticks it. It
 * knows requests and tokens; how steps run and bytes move is its runner's and copy engine's.
 *
 * Invariant: the token store holds the ids of every request that the engine still knows, also of
 * those whose clients have gone while their step is in flight.
 */

import { NS_PER_SECOND } from "../base/index.ts";
import type { Engine, EngineFailure, EngineNote, EngineSink } from "../engine/index.ts";
import { LOCAL_SOURCE } from "../kvcache/index.ts";
import type {
  Generation,
  GenerationRequest,
  Rejection,
  ServedModel,
  ServedModelLoad,
} from "./generation.ts";
import { GenerationRecord } from "./generation-record.ts";
import type { SampledToken } from "./step-execution.ts";
import type { TokenStore } from "./token-store.ts";

/** Where a runner has put the token that it made for a request. */
export interface TokenSource {
  tokenOf(request: number): SampledToken;
}

/** Where KV of one generation lies: so many bytes on one place. */
export interface KvPlace {
  readonly kind: "local" | "borrowed" | "host";
  /** The device; null for the host. */
  readonly device: number | null;
  readonly bytes: number;
}

export interface ServedEngineSettings {
  readonly name: string;
  readonly device: number;
  readonly contextTokensMax: number;
  /** Requests that may wait for admission. */
  readonly waitingMax: number;
  /** (engines) the device of each: what a borrowed source is called. */
  readonly deviceOf: readonly number[];
  readonly sliceBytes: number;
}

/** What the engine asks of whoever drives it. */
export interface ServedEngineHost {
  nowNs(): number;
  /** Something is due now. */
  wake(): void;
}

type Held = Omit<ServedModelLoad, "preemptions" | "promptTokens" | "generatedTokens">;

/** Of an engine that is gone. */
const NOTHING_HELD: Held = {
  running: 0,
  waiting: 0,
  kvUsedShare: 0,
  kvLocalBytes: 0,
  kvBorrowedBytes: 0,
  kvLentBytes: 0,
  kvHostBytes: 0,
};

export class ServedEngine implements ServedModel, EngineSink {
  readonly name: string;
  readonly contextTokensMax: number;
  readonly #settings: ServedEngineSettings;
  readonly #tokens: TokenStore;
  readonly #source: TokenSource;
  readonly #host: ServedEngineHost;
  readonly #open = new Map<number, GenerationRecord>();
  /** Aborted, and perhaps still in the step in flight. */
  readonly #leaving = new Set<number>();
  #engine: Engine | null = null;
  #nextId = 0;
  #isClosing = false;
  #isLost = false;
  #promptTokens = 0;
  #generatedTokens = 0;

  constructor(
    settings: ServedEngineSettings,
    tokens: TokenStore,
    source: TokenSource,
    host: ServedEngineHost,
  ) {
    this.name = settings.name;
    this.contextTokensMax = settings.contextTokensMax;
    this.#settings = settings;
    this.#tokens = tokens;
    this.#source = source;
    this.#host = host;
  }

  /** The engine whose sink this is. */
  connect(engine: Engine): void {
    this.#engine = engine;
  }

  get engine(): Engine {
    return this.#engine!;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** Generations that have not ended. */
  get openCount(): number {
    return this.#open.size;
  }

  /** Requests whose ids are kept: none once the engine has let go of all. */
  get storedRequests(): number {
    return this.#tokens.size;
  }

  submit(request: GenerationRequest): GenerationRecord | Rejection {
    const { waitingMax, contextTokensMax } = this.#settings;
    if (this.#isLost) return { reason: "engine-lost", retryAfterSeconds: 1 };
    if (this.#isClosing) return { reason: "shutting-down", retryAfterSeconds: 1 };
    const room = contextTokensMax - request.promptIds.length;
    if (room < 1) return { reason: "beyond-context", retryAfterSeconds: 0 };
    if (this.engine.scheduler.waiting.size >= waitingMax) {
      return { reason: "queue-full", retryAfterSeconds: this.#retryAfterSeconds() };
    }
    const id = this.#nextId++;
    const record = new GenerationRecord(id, request, (gone) => this.#abort(gone));
    this.#open.set(id, record);
    this.#tokens.add(id, request);
    const outputMax = Math.min(request.outputTokensMax, room);
    this.engine.submit(id, request.promptIds.length, outputMax, this.#host.nowNs());
    this.#host.wake();
    return record;
  }

  load(): ServedModelLoad {
    const { preemptions } = this.engine.counters;
    const [promptTokens, generatedTokens] = [this.#promptTokens, this.#generatedTokens];
    const held = this.#isLost ? NOTHING_HELD : this.#held();
    return { ...held, preemptions, promptTokens, generatedTokens };
  }

  /** @returns where the KV of a generation lies now; empty once it has none. */
  kvPlaces(generation: Generation): KvPlace[] {
    const { kv, scheduler, arena } = this.engine;
    const id = generation instanceof GenerationRecord ? generation.id : -1;
    const isOpen = this.#open.get(id) === generation;
    const row = isOpen ? scheduler.sequences.rowOf(id) : -1;
    if (row < 0) return [];
    const places: KvPlace[] = [];
    for (let source = 0; source < kv.sourceCount; source++) {
      const bytes = kv.blocksAt(row, source) * kv.layout.blockBytes;
      if (bytes === 0) continue;
      const { device, deviceOf } = this.#settings;
      if (source === LOCAL_SOURCE) places.push({ kind: "local", device, bytes });
      else if (source === arena.hostSource) places.push({ kind: "host", device: null, bytes });
      else places.push({ kind: "borrowed", device: deviceOf[source - 1]!, bytes });
    }
    return places;
  }

  /** Forgets the ids of requests that the engine has let go; after every tick. */
  sweep(): void {
    for (const id of this.#leaving) {
      const { sequences, waiting } = this.engine.scheduler;
      if (sequences.rowOf(id) >= 0 || waiting.positionOf(id) >= 0) continue;
      this.#leaving.delete(id);
      this.#tokens.forget(id);
    }
  }

  /** Takes nothing in any more. */
  beginClosing(): void {
    this.#isClosing = true;
  }

  abortAll(): void {
    for (const record of this.#open.values()) record.abort();
  }

  /** Its process or device is gone: what was open has failed. */
  lose(): void {
    this.#isLost = true;
    for (const record of this.#open.values()) record.fail("engine-lost");
    this.#open.clear();
  }

  // What the engine tells.

  token(request: number): boolean {
    const token = this.#source.tokenOf(request);
    this.#tokens.append(request, token.id);
    this.#generatedTokens++;
    const record = this.#open.get(request);
    if (record === undefined) return true;
    record.add(token);
    return record.request.stopIds.includes(token.id);
  }

  finished(request: number): void {
    const record = this.#open.get(request);
    this.#close(request);
    if (record === undefined) return;
    const last = record.tokenAt(record.tokenCount - 1);
    record.finish(record.request.stopIds.includes(last) ? "stop" : "length");
  }

  failed(request: number, reason: EngineFailure): void {
    const record = this.#open.get(request);
    this.#close(request);
    record?.fail(reason);
  }

  ran(): void {}

  note(kind: EngineNote, value: number): void {
    if (kind !== "admitted") return;
    const record = this.#open.get(value);
    if (record === undefined || record.state === "running") return;
    this.#promptTokens += record.request.promptIds.length;
    record.admitted();
  }

  #held(): Held {
    const { kv, scheduler, arena } = this.engine;
    const { layout, slices, sourceCount } = kv;
    const { blockBytes } = layout;
    let borrowed = 0;
    for (let source = 1; source < arena.hostSource; source++) borrowed += kv.usedBlocks(source);
    const local = kv.usedBlocks(LOCAL_SOURCE);
    let held = 0;
    for (let source = 0; source < sourceCount - 1; source++) held += slices.heldRows[source]!;
    const usable = (held + arena.offeredSlices - arena.lentSlices) * layout.blocksPerSlice;
    return {
      running: scheduler.sequences.count,
      waiting: scheduler.waiting.size,
      kvUsedShare: usable > 0 ? Math.min(1, (local + borrowed) / usable) : 0,
      kvLocalBytes: local * blockBytes,
      kvBorrowedBytes: borrowed * blockBytes,
      kvLentBytes: arena.lentSlices * this.#settings.sliceBytes,
      kvHostBytes: kv.usedBlocks(arena.hostSource) * blockBytes,
    };
  }

  #close(request: number): void {
    this.#open.delete(request);
    this.#leaving.delete(request);
    this.#tokens.forget(request);
  }

  #abort(record: GenerationRecord): void {
    this.#open.delete(record.id);
    this.#leaving.add(record.id);
    this.engine.cancel(record.id, this.#host.nowNs());
    this.#host.wake();
  }

  /** As long as the queue would last, if every request took a step's time for each token. */
  #retryAfterSeconds(): number {
    const { scheduler, counters } = this.engine;
    const stepNs = counters.steps > 0 ? counters.stepNs / counters.steps : 1e6;
    const tokens = scheduler.predictor.remainingTokens(0);
    const rounds = scheduler.waiting.size / Math.max(1, scheduler.sequences.count);
    return Math.max(1, Math.ceil((rounds * tokens * stepNs) / NS_PER_SECOND));
  }
}
