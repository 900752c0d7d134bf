/**
 * The style of the HTML page: one sheet for phones and desks, light and dark.
 *
 * Put into the page by html-report.ts. Colours are named once, as variables; the script reads them
 * for the charts, so that both agree in both schemes. The four kinds of memory keep their colours
 * everywhere and differ in lightness too, for readers who see colours differently.
 */

export const PAGE_STYLE = `
:root {
  color-scheme: light dark;
  --page: #fbfbfa; --card: #ffffff; --text: #1c2126; --muted: #5a646e; --line: #dfe3e6;
  --own: #2f6fb0; --lent: #e0a526; --free: #e6eaed; --borrowed: #2f9a6b;
  --s0: #6b7680; --s1: #8a63c9; --s2: #1f9d6b; --s3: #d1652f; --s4: #2f6fb0; --s5: #b8336a;
  --good: #1b7a4c; --warn: #8a5a00; --warn-back: #fff6e0;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14181c; --card: #1c2227; --text: #e7eaec; --muted: #a0abb4; --line: #333c44;
    --own: #5b9bdc; --lent: #e9b84a; --free: #2a3238; --borrowed: #4fc08d;
    --s0: #a3aeb7; --s1: #b497e8; --s2: #4fc08d; --s3: #ef8f5d; --s4: #6aa9e6; --s5: #e87aa4;
    --good: #63d29c; --warn: #f0c366; --warn-back: #332a14;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--text);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
main { max-width: 1180px; margin: 0 auto; padding: 24px 20px 48px; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1.1rem; margin: 32px 0 10px; }
p { margin: 6px 0; }
.muted, figcaption, caption { color: var(--muted); font-size: 0.87rem; }
.verdict {
  margin: 16px 0; padding: 14px 16px; background: var(--card); font-size: 1.08rem;
  border: 1px solid var(--line); border-left: 5px solid var(--good); border-radius: 6px;
}
.verdict.no { border-left-color: var(--muted); }
.warnings { margin: 12px 0; padding: 10px 16px 10px 32px; background: var(--warn-back);
  color: var(--warn); border-radius: 6px; }
.scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--line);
  border-radius: 6px; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
caption { text-align: left; padding: 8px 10px; }
th, td { padding: 5px 10px; text-align: right; white-space: nowrap; font-weight: 400; }
th:nth-child(-n+2) { text-align: left; }
thead th { color: var(--muted); font-size: 0.82rem; vertical-align: bottom;
  border-bottom: 1px solid var(--line); }
tbody tr.first th, tbody tr.first td { border-top: 1px solid var(--line); }
tbody tr.total { background: color-mix(in srgb, var(--line) 35%, transparent); }
td.best, th.system { font-weight: 650; }
.controls { position: sticky; top: 0; z-index: 2; display: flex; flex-wrap: wrap; gap: 8px 20px;
  padding: 10px 0; margin-top: 20px; background: var(--page);
  border-bottom: 1px solid var(--line); }
fieldset { display: flex; flex-wrap: wrap; gap: 4px 14px; margin: 0; padding: 0; border: 0; }
legend { float: left; padding: 0 10px 0 0; color: var(--muted); }
label { cursor: pointer; }
select { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line);
  border-radius: 4px; padding: 2px 6px; max-width: 100%; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 500px), 1fr));
  gap: 14px; }
figure { margin: 0; padding: 10px 10px 6px; background: var(--card); min-width: 0;
  border: 1px solid var(--line); border-radius: 6px; }
figcaption { color: var(--text); font-weight: 600; }
.key { display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 6px 0 10px; font-size: 0.87rem; }
.key i { display: inline-block; width: 12px; height: 12px; margin-right: 6px; border-radius: 2px;
  vertical-align: -1px; border: 1px solid color-mix(in srgb, var(--text) 25%, transparent); }
figure.wide { grid-column: 1 / -1; }
.chart { min-height: 120px; }
.u-legend { font-size: 0.82rem; text-align: left !important; }
.u-legend th, .u-legend td { padding: 2px 4px; text-align: left; }
details { margin-top: 10px; }
@media (max-width: 600px) {
  main { padding: 16px 12px 32px; }
  h1 { font-size: 1.25rem; }
  th, td { padding: 4px 7px; }
}
`;
