/** What `ema serve` understands: devices, addresses, keys, sizes; and what it says to the rest. */

import { describe, expect, it } from "vitest";
import { clientUrl, curlLine, serveAddress } from "../../src/cli/serve-address.ts";
import type { RawServeOptions } from "../../src/cli/serve-command.ts";
import { devicesText, parseDevices, sizeText } from "../../src/cli/serve-devices.ts";
import { serveSettings } from "../../src/cli/serve-settings.ts";

const MIB = 1024 ** 2;

describe("devices", () => {
  it.each<[string, number[]]>([
    ["emulated:4x64MiB", [64 * MIB, 64 * MIB, 64 * MIB, 64 * MIB]],
    ["emulated:1x8MB", [8_000_000]],
    ["emulated:16MiB", [16 * MIB]],
    ["emulated:2x1MiB,4MiB", [MIB, MIB, 4 * MIB]],
    ["emulated:1x1.5MiB", [1.5 * MIB]],
  ])("%s are understood", (text, expected) => {
    expect(parseDevices(text)).toEqual(expected);
  });

  it.each([
    ["4x64MiB", /expected emulated:<count>x<size>/],
    ["emulated:", /expected emulated:<count>x<size>/],
    ["emulated:4x", /expected emulated/],
    ["emulated:0x64MiB", /expected emulated/],
    ["emulated:4x64", /expected emulated/],
    ["emulated:4xlots", /expected emulated/],
    ["emulated:4x-1MiB", /expected emulated/],
    ["emulated:4x0MiB", /expected emulated/],
    ["cuda:0", /no devices of kind "cuda"/],
    ["emulated:17x1MiB", /at most 16/],
    ["emulated:999x1MiB", /at most 16/],
  ])("%s are refused", (text, expected) => {
    expect(() => parseDevices(text)).toThrow(expected);
  });

  it("are named in a line for people", () => {
    expect(devicesText(parseDevices("emulated:4x64MiB"))).toBe("4 emulated devices of 64 MiB");
    expect(devicesText([MIB])).toBe("1 emulated device of 1 MiB");
    expect(devicesText([MIB, 2 * MIB])).toBe("2 emulated devices of 1 MiB and 2 MiB");
    expect([0, 1023, 1536, 70 * 1024].map(sizeText)).toEqual([
      "0 B",
      "1020 B",
      "1.5 KiB",
      "70 KiB",
    ]);
  });
});

describe("an address", () => {
  it("on loopback needs no key", () => {
    for (const host of ["127.0.0.1", "localhost", "::1", "[::1]"]) {
      expect(serveAddress(host, "0", undefined, undefined).apiKey).toBeNull();
    }
    expect(serveAddress("[::1]", "80", undefined, "")).toEqual({
      ...{ host: "::1", port: 80, apiKey: null },
    });
  });

  it("elsewhere needs one, from the option or the environment", () => {
    for (const host of ["0.0.0.0", "::", "192.168.1.2", "gpu-box"]) {
      const address = (key?: string, variable?: string) => serveAddress(host, "1", key, variable);
      expect(() => address()).toThrow(/--host .* lets other machines in: give --api-key KEY or/);
      expect(() => address(undefined, "")).toThrow(/EMA_API_KEY/);
      expect(address("a", "b").apiKey).toBe("a");
      expect(address(undefined, "b").apiKey).toBe("b");
    }
  });

  it.each([
    [["127.0.0.1", "65536", undefined], /--port "65536": expected a number from 0 to 65535/],
    [["127.0.0.1", "-1", undefined], /--port/],
    [["127.0.0.1", "1e3", undefined], /--port/],
    [["127.0.0.1", "", undefined], /--port/],
    [["a b", "80", "k"], /--host "a b"/],
    [["", "80", "k"], /--host ""/],
    [["127.0.0.1", "80", ""], /--api-key: expected 1 to 256 visible ASCII/],
    [["127.0.0.1", "80", "gé"], /--api-key/],
  ] as const)("of %j is refused", ([host, port, key], expected) => {
    expect(() => serveAddress(host, port, key, undefined)).toThrow(expected);
  });

  it("is written as a client on this machine types it", () => {
    expect(clientUrl("0.0.0.0", 80)).toBe("http://127.0.0.1:80");
    expect(clientUrl("::1", 80)).toBe("http://[::1]:80");
    expect(curlLine("http://h:1", "m", false)).toContain("curl http://h:1/v1/chat/completions -H");
    expect(curlLine("http://h:1", "m", true)).toContain('"authorization: Bearer $EMA_API_KEY"');
  });
});

describe("settings", () => {
  const options: RawServeOptions = {
    ...{ devices: "emulated:2x8MiB", host: "127.0.0.1", port: "0" },
    ...{ maxRequests: "256", maxWaiting: "9", maxBody: "2MiB", grace: "30", logLevel: "warn" },
  };

  it("are numbers, with the units they are meant in", () => {
    expect(serveSettings({ ...options, name: "org/m:1" }, undefined)).toMatchObject({
      ...{ requestsMax: 256, waitingMax: 9, bodyBytesMax: 2 * MIB, graceMs: 30_000 },
      // What does not fit into an empty queue would be told to come again for ever.
      choicesMax: 9,
      ...{ modelPath: null, modelName: "org/m:1", isElastic: true },
    });
    expect(serveSettings({ ...options, static: true }, undefined).isElastic).toBe(false);
    const { choicesMax } = serveSettings({ ...options, maxWaiting: "999" }, undefined);
    expect(choicesMax).toBe(128);
  });

  it.each<[Partial<RawServeOptions>, RegExp]>([
    [{ maxRequests: "0" }, /--max-requests "0": expected a whole number from 1/],
    [{ maxWaiting: "many" }, /--max-waiting/],
    [{ maxBody: "2097152" }, /--max-body "2097152": expected a size from 1KiB to 256MiB/],
    [{ maxBody: "1GiB" }, /--max-body/],
    [{ grace: "-1" }, /--grace/],
    [{ logLevel: "loud" }, /--log-level "loud": expected silent, error/],
    [{ name: "a b" }, /--name "a b"/],
    [{ devices: "gpu" }, /--devices "gpu"/],
  ])("%j are refused", (wrong, expected) => {
    expect(() => serveSettings({ ...options, ...wrong }, undefined)).toThrow(expected);
  });
});
