/**
 * Text and data made safe for an HTML page: names come from people's scenarios.
 *
 * Called by html-report.ts for everything it puts into markup.
 */

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** For text and for attribute values in quotes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (sign) => ENTITIES[sign]!);
}

/**
 * JSON for the inside of a script element: no `<` is left, so nothing in it can end the element or
 * open a comment. The JSON means the same.
 */
export function jsonForScript(value: unknown): string {
  return JSON.stringify(value).replace(/</g, "\\u003c");
}
