/**
 * The memory systems a scenario compares: names, what each is based on, and its pool settings.
 *
 * Called while a scenario is resolved, and by the command line for `--systems`. A system is an
 * entry of a list: a base's own name, or `{name, base, pool}` whose pool lies over the scenario's.
 */

import { EmaError, suggestNames } from "../base/index.ts";
import type { Checker } from "./checker.ts";
import { DEFAULT_POOL, DEFAULT_SYSTEMS } from "./defaults.ts";
import type { KeyPath } from "./scenario-text.ts";
import type { PoolSettings, Scenario, SystemBase, SystemSettings } from "./scenario.ts";
import { SYSTEM, SYSTEM_BASES, type PoolKeys } from "./schema.ts";

/** Lays what is written over `under`. */
export function resolvePool(keys: PoolKeys | undefined, under: PoolSettings): PoolSettings {
  if (keys === undefined) return under;
  return {
    borrowLimit: keys.borrowLimit ?? under.borrowLimit,
    headroom: keys.headroom ?? under.headroom,
    lenderShare: keys.lenderShare === undefined ? under.lenderShare : keys.lenderShare.share,
    sliceBytes: keys.sliceBytes ?? under.sliceBytes,
    interference: keys.interference ?? under.interference,
    accessMode: keys.accessMode ?? under.accessMode,
    copyCostSeconds: keys.copyCost ?? under.copyCostSeconds,
  };
}

/** @param list the scenario's `systems`, or undefined for the default ones. */
export function resolveSystems(
  checker: Checker,
  list: readonly unknown[] | undefined,
  pool: PoolSettings = DEFAULT_POOL,
): SystemSettings[] {
  if (list === undefined) return DEFAULT_SYSTEMS.map((base) => ({ name: base, base, pool }));
  const systems: SystemSettings[] = [];
  list.forEach((item, index) => {
    const path: KeyPath = ["systems", index];
    const system = readSystem(checker, item, path, pool);
    if (systems.some(({ name }) => name === system.name)) {
      checker.fail(path, `two systems are named ${JSON.stringify(system.name)}; expected one`);
    }
    systems.push(system);
  });
  return systems;
}

function readSystem(
  checker: Checker,
  item: unknown,
  path: KeyPath,
  pool: PoolSettings,
): SystemSettings {
  if (typeof item === "string") {
    const base = baseNamed(item);
    if (base === null) failBase(checker, path, item);
    return { name: item, base: base!, pool };
  }
  const written = checker.valueAt([...path, "base"]);
  if (typeof written === "string" && baseNamed(written) === null) {
    failBase(checker, [...path, "base"], written);
  }
  const system = checker.read(SYSTEM, path);
  const base = system.base ?? baseNamed(system.name);
  if (base === null) {
    return checker.fail(path, `expected a base, one of ${SYSTEM_BASES.join(", ")}`);
  }
  return { name: system.name, base, pool: resolvePool(system.pool, pool) };
}

function baseNamed(name: string): SystemBase | null {
  return SYSTEM_BASES.find((base) => base === name) ?? null;
}

function failBase(checker: Checker, path: KeyPath, name: string): never {
  const hint = suggestNames(name, SYSTEM_BASES);
  return checker.fail(path, `unknown system ${JSON.stringify(name)}${hint}`, "E_SYSTEM");
}

/**
 * The systems of `--systems a,b`, in the order given. A base that the scenario does not list is
 * taken with the scenario's pool settings.
 * @throws EmaError E_SYSTEM with the nearest names.
 */
export function systemsByName(scenario: Scenario, names: readonly string[]): SystemSettings[] {
  const known = [...new Set([...scenario.systems.map(({ name }) => name), ...SYSTEM_BASES])];
  return [...new Set(names.map((name) => name.trim()))].map((name) => {
    const listed = scenario.systems.find((system) => system.name === name);
    if (listed !== undefined) return listed;
    const base = baseNamed(name);
    if (base !== null) return { name, base, pool: scenario.pool };
    throw new EmaError(
      "E_SYSTEM",
      `--systems: unknown system ${JSON.stringify(name)}${suggestNames(name, known)}`,
    );
  });
}
