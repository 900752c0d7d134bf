/**
 * The HTML page in a real browser: draws everything without a network or an error, at a desk and on
 * a phone, light and dark.
 *
 * Needs Debian's chromium; without it the tests are skipped by name, in CI they fail.
 */

import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { compare, htmlReport } from "../../src/report/index.ts";
import { plausibleSimulator, scenarioOf, systemSettings } from "./fixtures.ts";

const CHROMIUM = "/usr/bin/chromium";
const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
const isMissing = !existsSync(CHROMIUM) && process.env["CI"] === undefined;

describe.skipIf(isMissing)("the page in chromium", () => {
  const folder = mkdtempSync(join(tmpdir(), "ema-report-"));
  const address = pathToFileURL(join(folder, "out.html")).href;
  let browser: Browser;

  beforeAll(async () => {
    const systems = [systemSettings("static"), systemSettings("double"), systemSettings("ema")];
    const scenario = { ...scenarioOf(["chat", "</script>"], systems), name: "<b>bursts</b>" };
    const simulator = plausibleSimulator();
    const renamed: typeof simulator = {
      ...simulator,
      simulate: (...inputs) => {
        const run = simulator.simulate(...inputs);
        const [chat, code] = run.engines;
        return { ...run, engines: [chat!, { ...code!, name: "</script>" }] };
      },
    };
    const page = htmlReport(compare(scenario, { simulator: renamed, seeds: [1, 2, 3] }));
    writeFileSync(join(folder, "out.html"), page);
    browser = await chromium.launch({ executablePath: CHROMIUM, args: ARGUMENTS });
  });

  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** Opens the page offline and collects what it complains of and asks for. */
  async function open(width: number, colorScheme: "light" | "dark") {
    const context = await browser.newContext({ viewport: { width, height: 844 }, colorScheme });
    await context.setOffline(true);
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on("console", (message) => complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("request", (request) => {
      if (request.url() !== address) complaints.push(`asked for ${request.url()}`);
    });
    await page.goto(address);
    return { context, page, complaints };
  }

  const read = <T>(page: Page, expression: string): Promise<T> => page.evaluate(expression);

  it.each([
    [1280, "light"],
    [390, "light"],
    [1280, "dark"],
    [390, "dark"],
  ] as const)("draws all charts at %d px, %s, without an error", async (width, scheme) => {
    const { context, page, complaints } = await open(width, scheme);
    expect(complaints).toEqual([]);
    expect(await read(page, "document.querySelectorAll('.chart canvas').length")).toBe(5);
    // Tables scroll inside their frame; the page itself never does sideways.
    expect(await read(page, "document.documentElement.scrollWidth")).toBe(width);
    const isOver = "[...document.querySelectorAll('canvas')].some(c => c.clientWidth > innerWidth)";
    expect(await read(page, isOver)).toBe(false);
    await context.close();
  });

  it("shows names as they are written", async () => {
    const { context, page } = await open(1280, "light");
    expect(await read(page, "document.querySelector('h1').textContent")).toMatch(/^<b>bursts<\/b>/);
    expect(await read(page, "document.querySelectorAll('h1 b').length")).toBe(0);
    const caption = "[...document.querySelectorAll('figcaption')].map(c => c.textContent)";
    expect(await read(page, caption)).toContain("GPU 1: </script>");
    await context.close();
  });

  it("says in words what each chart shows, for the chosen system and engine", async () => {
    const { context, page, complaints } = await open(1280, "light");
    const labelOf = (id: string): Promise<string> =>
      read(page, `document.getElementById("${id}").getAttribute("aria-label")`);
    expect(await labelOf("memory-0")).toMatch(/^GPU 0: chat under ema: .* 2\.5 borrowed/);
    await page.getByRole("radio", { name: "static" }).check();
    expect(await labelOf("memory-0")).toMatch(/under static: .* 0\.0 borrowed/);
    expect(await labelOf("ttft")).toContain("all engines");
    await page.getByRole("combobox", { name: "Engine" }).selectOption("chat");
    expect(await labelOf("ttft")).toMatch(/of chat, cumulative.*static .* s, double .* s, ema/);
    expect(complaints).toEqual([]);
    await context.close();
  });

  it("paints something: the borrowed green is in the first chart", async () => {
    const { context, page } = await open(1280, "light");
    const hasGreen = `(() => {
      const canvas = document.querySelector("#memory-0 canvas");
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      let count = 0;
      for (let i = 0; i < data.length; i += 4) {
        if (data[i] === 0x2f && data[i + 1] === 0x9a && data[i + 2] === 0x6b) count++;
      }
      return count;
    })()`;
    expect(await read<number>(page, hasGreen)).toBeGreaterThan(1000);
    await context.close();
  });

  it("follows a change of width and of colours", async () => {
    const { context, page, complaints } = await open(1280, "light");
    await page.setViewportSize({ width: 500, height: 844 });
    // The page's own policy forbids what waitForFunction does; a poll from outside does the same.
    const width = "document.querySelector('canvas').clientWidth";
    await expect.poll(() => read<number>(page, width)).toBeLessThan(500);
    await page.emulateMedia({ colorScheme: "dark" });
    expect(await read(page, "document.querySelectorAll('.chart canvas').length")).toBe(5);
    expect(complaints).toEqual([]);
    await context.close();
  });
});
