/**
 * `--report`: one HTML file that holds everything it shows and opens without a network.
 *
 * Called by the command, which writes the text to a file. The table, the verdict and the
 * capacities are markup, readable without scripts; the charts are drawn by html-script.ts from
 * html-data.ts.
 *
 * Invariants: nothing is loaded (the page's own policy forbids it); every name from a scenario is
 * escaped; the same comparison gives the same bytes.
 */

import type { CompareResult, Comparison } from "./comparison.ts";
import { gigabytes, plain } from "./figures.ts";
import { chartLibrary } from "./html-assets.ts";
import { pageData, type PageData } from "./html-data.ts";
import { escapeHtml, jsonForScript } from "./html-escape.ts";
import { PAGE_SCRIPT } from "./html-script.ts";
import { PAGE_STYLE } from "./html-style.ts";
import { TABLE_COLUMNS, tableRows } from "./table-cells.ts";

/** Scripts and styles of the page itself, nothing from anywhere else. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/** @throws EmaError E_FILE when the chart library is not installed. */
export function htmlReport(result: CompareResult): string {
  const { comparison, json } = result;
  const library = chartLibrary();
  const data = pageData(comparison);
  const name = escapeHtml(comparison.scenario.name);
  const isYes = /^(Yes|Partly)/.test(json.verdict.text);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<title>${name}: memory systems compared</title>
<style>${library.style}</style>
<style>${PAGE_STYLE}</style>
</head>
<body>
<main>
<h1>${name}: memory systems compared</h1>
<p class="muted">${escapeHtml(subtitle(comparison))}</p>
<p class="verdict${isYes ? "" : " no"}">${escapeHtml(json.verdict.text)}</p>
${warningList(json.warnings)}
<h2>Figures</h2>
${tableMarkup(comparison)}
${capacityMarkup(comparison)}
${chartsMarkup(data)}
</main>
<script type="application/json" id="data">${jsonForScript(data)}</script>
<script>/*\n${library.license.replace(/\*\//g, "* /")}*/\n${library.script}</script>
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`;
}

function subtitle({ scenario, seeds, systems }: Comparison): string {
  const gpus = [...new Set(scenario.topology.gpus.map((gpu) => gpu.label))].join(", ");
  const seedText =
    seeds.length === 1
      ? `seed ${seeds[0]}`
      : `means of ${seeds.length} seeds (± half the 95 % interval), charts of seed ${seeds[0]}`;
  const admission = systems.map((s) => `${s.settings.name} ${s.admission}`).join(", ");
  return `${scenario.topology.gpus.length} x ${gpus}; ${seedText}; admission: ${admission}`;
}

function warningList(warnings: readonly string[]): string {
  if (warnings.length === 0) return "";
  const items = warnings.map((warning) => `<li>${escapeHtml(warning)}</li>`).join("");
  return `<ul class="warnings" aria-label="Warnings">${items}</ul>`;
}

function tableMarkup(comparison: Comparison): string {
  const heads = TABLE_COLUMNS.map(
    ({ title }) => `<th scope="col">${escapeHtml(title).replace(" ", "<br>")}</th>`,
  );
  const rows = tableRows(comparison).map((row) => {
    const cells = row.cells.map(({ text, isBest }, index) => {
      if (index === 0) return `<th class="system">${row.isFirst ? escapeHtml(text) : ""}</th>`;
      if (index === 1) return `<th scope="row">${escapeHtml(text)}</th>`;
      return `<td${isBest ? ' class="best"' : ""}>${escapeHtml(text)}</td>`;
    });
    const classes = [row.isFirst ? "first" : "", row.isTotal ? "total" : ""].join(" ").trim();
    return `<tr class="${classes}">${cells.join("")}</tr>`;
  });
  return `<div class="scroll" tabindex="0" role="region" aria-label="Figures by system and engine">
<table>
<caption>Bold: the best of the systems that can be switched on (double is a yardstick).</caption>
<thead><tr>${heads.join("")}</tr></thead>
<tbody>
${rows.join("\n")}
</tbody>
</table>
</div>`;
}

function capacityMarkup(comparison: Comparison): string {
  const rows = comparison.systems.flatMap((system) =>
    Object.entries(system.capacities).map(([engine, capacity]) => {
      const limit = capacity.borrowLimitBytes;
      const cells = [
        capacity.gpu,
        capacity.model,
        plain(capacity.kvTokens),
        gigabytes(capacity.kvBytes),
        system.settings.base !== "ema" ? "-" : limit === null ? "none" : gigabytes(limit),
      ].map((text) => `<td>${escapeHtml(text)}</td>`);
      const name = escapeHtml(system.settings.name);
      return `<tr><th>${name}</th><th scope="row">${escapeHtml(engine)}</th>${cells.join("")}</tr>`;
    }),
  );
  const heads = ["system", "engine", "GPU", "model", "KV tokens", "KV GB", "may borrow GB"];
  return `<details>
<summary>Capacities used</summary>
<div class="scroll" tabindex="0" role="region" aria-label="Capacities">
<table>
<thead><tr>${heads.map((head) => `<th scope="col">${head}</th>`).join("")}</tr></thead>
<tbody>
${rows.join("\n")}
</tbody>
</table>
</div>
</details>`;
}

function chartsMarkup(data: PageData): string {
  const systems = data.systems.map(
    ({ name }, index) =>
      `<label><input type="radio" name="system" value="${index}"> ${escapeHtml(name)}</label>`,
  );
  const lines = data.lineLabels.map(
    (label, index) => `<option value="${index}">${escapeHtml(label)}</option>`,
  );
  const key = ["own", "lent", "free", "borrowed"].map(
    (kind) => `<span><i style="background:var(--${kind})"></i>${KEY_TEXTS[kind]}</span>`,
  );
  const memory = data.gpuLabels.map((label, index) => figure(`memory-${index}`, label));
  return `<div class="controls">
<fieldset><legend>System</legend>${systems.join("\n")}</fieldset>
<label>Engine <select id="line">${lines.join("")}</select></label>
</div>
<h2>Memory over time under <span id="memory-system"></span></h2>
<div class="key">${key.join("")}</div>
<div class="grid">
${memory.join("\n")}
</div>
<h2>Speed of the chosen engine</h2>
<div class="grid">
${figure("throughput", "Output tokens a second", "wide")}
${figure("ttft", "Time to first token, cumulative (dotted: the SLO)")}
${figure("tpot", "Time per output token, cumulative (dotted: the SLO)")}
</div>
<noscript><p>The charts need JavaScript; the figures above do not.</p></noscript>`;
}

const KEY_TEXTS: Readonly<Record<string, string>> = {
  own: "own use",
  lent: "lent to others",
  free: "free",
  borrowed: "borrowed: lies on other GPUs, drawn above the GPU's own",
};

function figure(id: string, caption: string, style = ""): string {
  const title = `<figcaption>${escapeHtml(caption)}</figcaption>`;
  return `<figure class="${style}">${title}<div class="chart" id="${id}"></div></figure>`;
}
