/**
 * `emulated:4x64MiB` and what else says on which devices engines run.
 *
 * Called by `ema serve` and `ema chat`. Pure. Only emulated devices exist; another kind is refused
 * by name, so that a later one can be added without a guess at what was meant.
 */

import { EmaError, parseBytes } from "../base/index.ts";

export const DEVICES_DEFAULT = "emulated:4x64MiB";

const DEVICES_MAX = 16;
const FORM = `expected emulated:<count>x<size>, like ${DEVICES_DEFAULT}`;

/** @returns the memory of each device, in bytes. @throws EmaError E_ARGUMENT */
export function parseDevices(text: string): readonly number[] {
  const [kind, rest] = split(text);
  if (rest === null) throw fault(text, FORM);
  if (kind !== "emulated") throw fault(text, `there are no devices of kind "${kind}"; ${FORM}`);
  const sizes: number[] = [];
  for (const part of rest.split(",")) {
    const match = /^(?:(\d{1,3})x)?(.+)$/.exec(part.trim());
    const bytes = match === null ? null : parseBytes(match[2]!);
    const count = Number(match?.[1] ?? 1);
    // A bare number could be bytes or MiB; it is not guessed.
    if (bytes === null || bytes < 1 || count < 1 || !/[A-Za-z]$/.test(part.trim())) {
      throw fault(text, FORM);
    }
    if (sizes.length + count > DEVICES_MAX) throw fault(text, `at most ${DEVICES_MAX} devices`);
    for (let i = 0; i < count; i++) sizes.push(bytes);
  }
  return sizes;
}

/** How the devices are called in a line for people: `4 emulated devices of 64 MiB`. */
export function devicesText(deviceBytes: readonly number[]): string {
  const sizes = [...new Set(deviceBytes)].map(sizeText);
  const what = deviceBytes.length === 1 ? "emulated device" : "emulated devices";
  return `${deviceBytes.length} ${what} of ${sizes.join(" and ")}`;
}

/** Powers of two as people give them: `64 MiB`, `1.5 GiB`. */
export function sizeText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${Number(value.toPrecision(3))} ${units[unit]}`;
}

function split(text: string): [string, string | null] {
  const colon = text.indexOf(":");
  return colon === -1 ? [text, null] : [text.slice(0, colon), text.slice(colon + 1)];
}

function fault(text: string, expected: string): EmaError {
  return new EmaError("E_ARGUMENT", `--devices "${text}": ${expected}`);
}
