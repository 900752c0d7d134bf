/**
 * What the HTML page does in the browser: draws the charts and answers the two switches.
 *
 * Text, put into the page by html-report.ts after uPlot and the data (html-data.ts, `PageData`).
 * It loads nothing. Plain JavaScript, because the page is a file without a build.
 *
 * Invariants: charts are drawn anew when the width, the colour scheme or a switch changes; each
 * chart says in words what it shows (aria-label).
 */

export const PAGE_SCRIPT = String.raw`
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);
  const color = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const state = { system: data.systems.length - 1, line: data.lineLabels.length - 1 };
  const hasBorrowed = (memory) => memory.borrowed.some((value) => value > 0);
  const elastic = data.systems.findIndex((system) => system.memory.some(hasBorrowed));
  if (elastic >= 0) state.system = elastic;
  let charts = [];

  const axis = (label, more) => Object.assign({
    label, labelSize: 16, size: 26, labelGap: 0,
    labelFont: "12px system-ui, sans-serif", font: "11px system-ui, sans-serif",
    stroke: color("muted"), grid: { stroke: color("line"), width: 1 },
    ticks: { stroke: color("line"), width: 1, size: 4 }, gap: 4,
  }, more);

  const short = (value) => value >= 1000 ? (value / 1000).toFixed(value % 1000 ? 1 : 0) + "k"
    : String(Number(value.toPrecision(3)));

  function draw(element, label, height, columns, options) {
    element.setAttribute("role", "img");
    element.setAttribute("aria-label", label);
    const width = Math.max(220, element.clientWidth);
    charts.push(new uPlot(Object.assign({ width, height }, options), columns, element));
  }

  const mean = (values) => values.length ? values.reduce((a, b) => a + b, 0) / values.length : 0;

  function drawMemory(index) {
    const element = byId("memory-" + index);
    const system = data.systems[state.system];
    const m = system.memory[index];
    if (m.seconds.length < 2) { element.textContent = "no samples"; return; }
    const own = m.own;
    const lent = own.map((v, i) => v + m.lent[i]);
    const full = lent.map((v, i) => v + m.free[i]);
    const all = full.map((v, i) => v + m.borrowed[i]);
    const part = (label, key, raw) => ({
      label, stroke: color(key === "free" ? "line" : key), fill: color(key), width: 1,
      paths: uPlot.paths.stepped({ align: 1 }), points: { show: false },
      value: (u, v, s, i) => i == null ? "" : raw[i].toFixed(2) + " GB",
    });
    draw(element, data.gpuLabels[index] + " under " + system.name + ": on average " +
      mean(m.own).toFixed(1) + " GB own, " + mean(m.lent).toFixed(1) + " lent, " +
      mean(m.free).toFixed(1) + " free, " + mean(m.borrowed).toFixed(1) + " borrowed from others",
      190, [m.seconds, all, full, lent, own], {
        cursor: { sync: { key: "memory" }, y: false },
        legend: { live: true },
        scales: { x: { time: false }, y: { range: (u, low, high) => [0, high * 1.05 || 1] } },
        axes: [axis("seconds"), axis("GB", { size: 38, values: (u, v) => v.map(short) })],
        series: [
          { label: "at", value: (u, v) => v == null ? "" : v.toFixed(1) + " s" },
          part("borrowed", "borrowed", m.borrowed), part("free", "free", m.free),
          part("lent", "lent", m.lent), part("own", "own", m.own),
        ],
      });
  }

  // On a logarithmic axis 1, 2 and 5 of each decade have room for their figures.
  const onRoundTick = (u, x) => {
    if (u.scales.x.max < 4 * u.scales.x.min) return x;
    const lead = Math.round(x / 10 ** Math.floor(Math.log10(x * 1.0001)));
    return lead === 1 || lead === 2 || lead === 5 ? x : null;
  };

  const strokeOf = (index) => color("s" + (index % 6));
  const lineOf = (index, value) => ({
    label: data.systems[index].name, stroke: strokeOf(index),
    width: index === state.system ? 2.5 : 1.2, dash: index === state.system ? [] : [5, 3],
    points: { show: false }, value,
  });

  function drawThroughput() {
    const columns = data.systems.map((system) => system.tokensPerSecond[state.line]);
    const text = data.systems.map((system, i) => system.name + " " + mean(columns[i]).toFixed(0));
    draw(byId("throughput"), "Output tokens a second over time of " + data.lineLabels[state.line] +
      ", on average: " + text.join(", "), 240, [data.slotSeconds, ...columns], {
        cursor: { y: false },
        scales: { x: { time: false }, y: { range: (u, low, high) => [0, high * 1.05 || 1] } },
        axes: [axis("seconds"), axis("tokens/s", { size: 50, values: (u, v) => v.map(short) })],
        series: [{ label: "at", value: (u, v) => v == null ? "" : v.toFixed(1) + " s" },
          ...data.systems.map((s, i) => lineOf(i, (u, v) => v == null ? "" : v.toFixed(0)))],
      });
  }

  function drawCumulative(id, name, sets, sloSeconds) {
    const element = byId(id);
    const set = sets[state.line];
    if (set.seconds.length === 0) { element.textContent = "no finished requests"; return; }
    const shown = data.systems.map((s, i) => i).filter((i) => set.shares[i] !== null);
    const half = (i) => set.seconds[set.shares[i].findIndex((v) => v >= 0.5)];
    const text = shown.map((i) => data.systems[i].name + " " + short(half(i)) + " s");
    const slo = (u) => {
      const x = u.valToPos(sloSeconds, "x", true);
      if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) return;
      u.ctx.save();
      u.ctx.strokeStyle = color("muted");
      u.ctx.setLineDash([3, 3]);
      u.ctx.beginPath();
      u.ctx.moveTo(x, u.bbox.top);
      u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
      u.ctx.stroke();
      u.ctx.restore();
    };
    draw(element, name + " of " + data.lineLabels[state.line] +
      ", cumulative; half of the requests took at most: " + text.join(", "), 240,
      [set.seconds, ...shown.map((i) => set.shares[i])], {
        cursor: { y: false }, hooks: { draw: [slo] },
        scales: { x: { time: false, distr: 3, range: (u, low, high) => [low, high] },
          y: { range: [0, 1] } },
        axes: [axis("seconds", { filter: (u, splits) => splits.map((x) => onRoundTick(u, x)),
          values: (u, v) => v.map((x) => x == null ? "" : short(x)) }),
          axis("share of requests", { size: 46,
            values: (u, v) => v.map((x) => Math.round(x * 100) + "%") })],
        series: [{ label: "within", value: (u, v) => v == null ? "" : short(v) + " s" },
          ...shown.map((i) => lineOf(i,
            (u, v) => v == null ? "" : (v * 100).toFixed(1) + "%"))],
      });
  }

  function drawAll() {
    for (const chart of charts) chart.destroy();
    charts = [];
    for (const element of document.querySelectorAll(".chart")) element.textContent = "";
    byId("memory-system").textContent = data.systems[state.system].name;
    for (let index = 0; index < data.gpuLabels.length; index++) drawMemory(index);
    drawThroughput();
    drawCumulative("ttft", "Time to first token", data.ttft, data.slo.ttftSeconds);
    drawCumulative("tpot", "Time per output token", data.tpot, data.slo.tpotSeconds);
    document.body.dataset.drawn = String(charts.length);
  }

  for (const input of document.querySelectorAll("input[name=system]")) {
    input.checked = Number(input.value) === state.system;
    input.addEventListener("change", () => { state.system = Number(input.value); drawAll(); });
  }
  byId("line").value = String(state.line);
  byId("line").addEventListener("change", (event) => {
    state.line = Number(event.target.value);
    drawAll();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  let width = document.documentElement.clientWidth;
  let pending = 0;
  addEventListener("resize", () => {
    // Phones fire this while scrolling, when only the height changes.
    if (document.documentElement.clientWidth === width) return;
    width = document.documentElement.clientWidth;
    clearTimeout(pending);
    pending = setTimeout(drawAll, 100);
  });
  drawAll();
})();
`;
