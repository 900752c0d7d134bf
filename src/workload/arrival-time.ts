/**
 * Arrival times as traces write them, without loss at the magnitude of epoch seconds.
 *
 * Called by the trace reader, once a row. Digits are taken as text: a double holds epoch seconds to
 * a quarter of a microsecond and epoch nanoseconds not at all. Nothing here asks for a time zone: a
 * date without one is taken as UTC, and only differences are used.
 *
 * Decimal seconds and milliseconds are rounded to a microsecond. Loggers write them from doubles,
 * so that `1780000046.6805899` stands for `.68059`; with the rounding a trace and its copy shifted
 * to epoch time are the same trace. Dates and whole microseconds or nanoseconds are kept exactly.
 */

export type TimeUnit = "s" | "ms" | "us" | "ns";

const UNIT_EXPONENTS: Readonly<Record<TimeUnit, number>> = { s: 0, ms: -3, us: -6, ns: -9 };
/** 1e11 seconds is the year 5138: a larger number is milliseconds under a name for seconds. */
const SECONDS_DIGITS_MAX = 11;

const DECIMAL = /^(\d{1,40})(?:\.(\d{0,40}))?(?:[eE]([+-]?\d{1,2}))?$/;
const DATE_TIME = /^(\d{4}-\d\d-\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,18}))?(.*)$/;
const ZONE = /^ ?(?:Z|UTC|([+-])(\d\d):?(\d\d))$/;

/**
 * Parses into its own fields, so that a row costs no allocation.
 * `seconds` counts from the epoch or from the trace's own zero; 0 <= `nanos` < 1e9.
 */
export class ArrivalTime {
  seconds = 0;
  nanos = 0;
  /** Which notation the last parsed text had; a column must not mix them. */
  notation: "date" | "number" = "number";
  #day = "";
  #daySeconds = 0;

  /** @returns false when `text` is no time; the fields are then undefined. */
  parse(text: string, unit: TimeUnit): boolean {
    const isDate = text.charCodeAt(4) === 45 && text.length >= 19;
    this.notation = isDate ? "date" : "number";
    return isDate ? this.#parseDate(text) : this.#parseDecimal(text, unit);
  }

  #parseDate(text: string): boolean {
    const match = DATE_TIME.exec(text);
    if (match === null) return false;
    if (match[1] !== this.#day) {
      const daySeconds = secondsOfDay(match[1]!);
      if (daySeconds === null) return false;
      this.#day = match[1]!;
      this.#daySeconds = daySeconds;
    }
    const hours = Number(match[2]);
    const minutes = Number(match[3]);
    const seconds = Number(match[4]);
    if (hours > 23 || minutes > 59 || seconds > 59) return false;
    this.seconds = this.#daySeconds + hours * 3600 + minutes * 60 + seconds;
    if (match[6] !== "") {
      const zone = ZONE.exec(match[6]!);
      if (zone === null) return false;
      const zoneSeconds = Number(zone[2] ?? 0) * 3600 + Number(zone[3] ?? 0) * 60;
      this.seconds += zone[1] === "-" ? zoneSeconds : -zoneSeconds;
    }
    this.nanos = match[5] === undefined ? 0 : Number(match[5].slice(0, 9).padEnd(9, "0"));
    return true;
  }

  #parseDecimal(text: string, unit: TimeUnit): boolean {
    const match = DECIMAL.exec(text);
    if (match === null) return false;
    let digits = match[1]! + (match[2] ?? "");
    let point = match[1]!.length + Number(match[3] ?? 0) + UNIT_EXPONENTS[unit];
    if (point < 0) {
      digits = "0".repeat(-point) + digits;
      point = 0;
    }
    const whole = digits.slice(0, point).padEnd(point, "0").replace(/^0+/, "");
    if (whole.length > SECONDS_DIGITS_MAX) return false;
    const fraction = digits.slice(point);
    this.seconds = Number(whole);
    if (unit === "us" || unit === "ns") {
      this.nanos = Number(fraction.slice(0, 9).padEnd(9, "0"));
      return true;
    }
    const micros = Math.round(Number(fraction.slice(0, 7).padEnd(7, "0")) / 10);
    this.seconds += micros === 1e6 ? 1 : 0;
    this.nanos = (micros % 1e6) * 1000;
    return true;
  }
}

/** @returns seconds from the epoch to midnight UTC of `2023-11-16`, or `null` for no such day. */
function secondsOfDay(text: string): number | null {
  const [year, month, day] = text.split("-").map(Number) as [number, number, number];
  const milliseconds = Date.UTC(year, month - 1, day);
  const date = new Date(milliseconds);
  const isReal = date.getUTCMonth() === month - 1 && date.getUTCDate() === day && year >= 100;
  return isReal ? milliseconds / 1000 : null;
}
