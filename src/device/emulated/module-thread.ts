/**
 * Starts a module of this repository in a thread or a process, built or as source.
 *
 * Called by whoever has a module that runs by itself (the copy thread, the mapping self-test, the
 * thread of an engine). Built, modules are JavaScript. As source they are TypeScript, which Node
 * runs from 22.18 on; before that tsx, a development dependency, is loaded first. Threads do not
 * inherit what `--import` registers, so that it is registered inside each.
 */

import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { Worker, type WorkerOptions } from "node:worker_threads";

/**
 * @param name of a module beside the caller, without its extension
 * @param caller `import.meta.url` of the calling module
 */
export function siblingModule(name: string, caller: string): URL {
  const extension = caller.slice(caller.lastIndexOf("."));
  return new URL(`./${name}${extension}`, caller);
}

/** Node's options that a process needs to run the module. */
export function nodeOptionsFor(module: URL): string[] {
  return needsLoader(module) ? ["--import", tsxModule(module, "loader.mjs")] : [];
}

/**
 * Its `workerData` and `parentPort` are the module's. The thread keeps nobody alive: a process may
 * end with it running.
 */
export function startThread(module: URL, options: WorkerOptions): Worker {
  const worker = new Worker(entryOf(module), { ...options, execArgv: [] });
  worker.unref();
  return worker;
}

function entryOf(module: URL): URL {
  if (!needsLoader(module)) return module;
  const api = JSON.stringify(tsxModule(module, "esm/api/index.mjs"));
  const target = JSON.stringify(module.href);
  const code = `import { register } from ${api}; register(); await import(${target});`;
  return new URL(`data:text/javascript,${encodeURIComponent(code)}`);
}

function needsLoader(module: URL): boolean {
  const hasTypes = (process.features as { typescript?: unknown }).typescript;
  return module.pathname.endsWith(".ts") && !hasTypes;
}

function tsxModule(module: URL, path: string): string {
  const manifest = createRequire(module).resolve("tsx/package.json");
  return new URL(`./dist/${path}`, pathToFileURL(manifest)).href;
}
