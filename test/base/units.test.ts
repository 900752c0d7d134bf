/** Sizes and shares as people write them: powers of ten are not powers of two. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatBytes, parseBytes, parsePercent } from "../../src/base/index.ts";

describe("parseBytes", () => {
  it.each([
    ["8GiB", 8589934592],
    ["8GB", 8000000000],
    ["1kB", 1000],
    ["1KiB", 1024],
    ["64MiB", 67108864],
    ["64 MB", 64000000],
    ["1.5 GB", 1500000000],
    ["2TiB", 2199023255552],
    ["1TB", 1e12],
    ["4096", 4096],
    ["4096B", 4096],
    ["0", 0],
    ["  7 B ", 7],
    ["0.5KiB", 512],
    ["1.0000001 MB", 1000000],
  ])("%s is %d bytes", (text, bytes) => {
    expect(parseBytes(text)).toBe(bytes);
  });

  it.each([
    ["", "nothing"],
    ["GB", "no number"],
    ["-1GB", "a sign"],
    ["+1GB", "a sign"],
    ["1e3", "an exponent"],
    ["1,024", "a comma"],
    ["0x10", "hexadecimal"],
    ["1 gb", "not a unit"],
    ["1 KB", "k is small, Ki is not Kilo"],
    ["1 Gb", "bits"],
    ["1GiBs", "a longer word"],
    ["1..5GB", "two points"],
    [".5GB", "no leading digit"],
    ["1 G B", "a unit in two words"],
    ["NaN", "not a number"],
    ["Infinity", "not a number"],
    ["10000000TB", "more than an integer can hold"],
    ["9".repeat(400), "more than a number can hold"],
    ["1 constructor", "a name every object has"],
  ])("refuses %j: %s", (text) => {
    expect(parseBytes(text)).toBeNull();
  });

  it("knows each factor to the byte", () => {
    const powers = { "": 1, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };
    const binary = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 };
    const unit = fc.constantFrom(...Object.entries({ ...powers, ...binary }));
    fc.assert(
      fc.property(fc.nat(8000), unit, fc.constantFrom("", " "), (count, [name, factor], gap) => {
        expect(parseBytes(`${count}${gap}${name}`)).toBe(count * factor);
      }),
    );
  });
});

describe("parsePercent", () => {
  it.each([
    ["2%", 0.02],
    ["100%", 1],
    ["150 %", 1.5],
    ["0%", 0],
    ["0.5%", 0.005],
  ])("%s is %d", (text, share) => {
    expect(parsePercent(text)).toBeCloseTo(share, 12);
  });

  it.each(["2", "%", "-1%", "1e2%", "2%%", "2 percent", "NaN%", "", `${"9".repeat(400)}%`])(
    "refuses %j",
    (text) => {
      expect(parsePercent(text)).toBeNull();
    },
  );
});

describe("formatBytes", () => {
  it.each([
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1.00 kB"],
    [1024, "1.02 kB"],
    [8589934592, "8.59 GB"],
    [8e9, "8.00 GB"],
    [9.999e9, "10.0 GB"],
    [99.96e9, "100 GB"],
    [999_600, "1.00 MB"],
    [123_456_789, "123 MB"],
    [5.5e15, "5500 TB"],
    [-2.5e6, "-2.50 MB"],
  ])("%d is %s", (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });

  it("is read back by parseBytes within half of the last digit", () => {
    fc.assert(
      fc.property(fc.nat(Number.MAX_SAFE_INTEGER), (bytes) => {
        const back = parseBytes(formatBytes(bytes))!;
        expect(Math.abs(back - bytes)).toBeLessThanOrEqual(bytes * 0.00501);
      }),
    );
  });
});
