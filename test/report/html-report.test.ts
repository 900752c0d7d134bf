/** The HTML page as text and its data: nothing loaded, everything escaped, every number finite. */

import { describe, expect, it } from "vitest";
import { compare, htmlReport } from "../../src/report/index.ts";
import { pageData } from "../../src/report/html-data.ts";
import { escapeHtml, jsonForScript } from "../../src/report/html-escape.ts";
import {
  engineRecord,
  plausibleSimulator,
  requestLog,
  runRecord,
  scenarioOf,
  SECOND,
  simulatorOf,
  systemSettings,
} from "./fixtures.ts";

const SYSTEMS = [systemSettings("static"), systemSettings("double"), systemSettings("ema")];

describe("escaping", () => {
  it("leaves no markup in text or attributes", () => {
    expect(escapeHtml(`<b class="a">&'`)).toBe("&lt;b class=&quot;a&quot;&gt;&amp;&#39;");
  });

  it("leaves nothing in data that could end its script element, and the same data", () => {
    const value = { name: "</script><script>alert(1)</script><!--", share: 0.5 };
    const text = jsonForScript(value);
    expect(text).not.toContain("<");
    expect(JSON.parse(text)).toEqual(value);
  });
});

describe("the page", () => {
  it("loads nothing and forbids to", () => {
    const scenario = scenarioOf(["chat", "code"], SYSTEMS);
    const page = htmlReport(compare(scenario, { simulator: plausibleSimulator(), seeds: [1, 2] }));
    expect(page).not.toMatch(/<(?:script|img|link|iframe)[^>]*\s(?:src|href)=/i);
    expect(page).not.toMatch(/@import|url\(/i);
    expect(page).toContain("default-src 'none'");
    expect(page).toContain("The MIT License");
  });

  it("escapes the names of scenarios, systems and engines", () => {
    const evil = `</script><img src=x onerror=alert(1)>`;
    const simulator = simulatorOf(() => runRecord({ engines: [engineRecord({ name: evil })] }));
    const scenario = { ...scenarioOf([evil], [systemSettings("ema", evil)]), name: evil };
    const page = htmlReport(compare(scenario, { simulator, seeds: [1] }));
    expect(page).not.toContain("<img");
    expect(page.match(/<\/script>/g)).toHaveLength(3);
  });

  it("is written without samples, requests or time", () => {
    const nothing = runRecord({ endNs: 0, totalWindow: { startNs: 0, endNs: 0 } });
    const scenario = scenarioOf(["chat"], [systemSettings("static")]);
    const result = compare(scenario, { simulator: simulatorOf(() => nothing), seeds: [1] });
    const markup = htmlReport(result).split("<script>")[0]!;
    expect(markup).toContain("GPU 0: chat");
    expect(markup).not.toMatch(/NaN|Infinity|undefined/);
  });
});

describe("the page's data", () => {
  const sample = (seconds: number, tokens: number) => ({
    timeNs: seconds * SECOND,
    ownBytes: 1e9,
    lentBytes: 2e9,
    freeBytes: 3e9,
    borrowedBytes: 4e9,
    tokens,
  });
  const run = runRecord({
    endNs: 120 * SECOND,
    engines: [engineRecord({ requests: requestLog([[0, 1, 2, 11], [0, 2, 4, 11]]) })],
    samples: [[sample(0, 0), sample(60, 600), sample(120, 60)]],
  });
  const scenario = scenarioOf(["chat"], [systemSettings("ema")]);
  const result = compare(scenario, { simulator: simulatorOf(() => run), seeds: [1] });
  const data = pageData(result.comparison);

  it("spreads tokens over the time since the sample before", () => {
    const [chat, all] = data.systems[0]!.tokensPerSecond;
    expect(chat!.slice(0, 60).every((rate) => Math.abs(rate - 10) < 1e-9)).toBe(true);
    expect(chat!.slice(60).every((rate) => Math.abs(rate - 1) < 1e-9)).toBe(true);
    expect(all).toEqual(chat);
  });

  it("has memory in GB by kind", () => {
    const memory = data.systems[0]!.memory[0]!;
    expect(memory).toMatchObject({ own: [1, 1, 1], lent: [2, 2, 2], free: [3, 3, 3] });
    expect(memory.seconds).toEqual([0, 60, 120]);
  });

  it("has cumulative shares from none to all", () => {
    const { seconds, shares } = data.ttft[0]!;
    expect(seconds[0]).toBeLessThan(1);
    expect(shares[0]!.at(0)).toBe(0);
    expect(shares[0]!.at(-1)).toBe(1);
    const half = seconds.findIndex((time) => time >= 1.5);
    expect(shares[0]![half]).toBe(0.5);
  });
});
