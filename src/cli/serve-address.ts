/**
 * Where `ema serve` listens, and who may then talk to it.
 *
 * Called by the command with commander's texts and the environment's key. Pure. A server that other
 * machines reach has a key: there is no option to go without.
 */

import { EmaError } from "../base/index.ts";
import { isLoopback } from "../server/index.ts";

export interface ServeAddress {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  readonly apiKey: string | null;
}

/**
 * @param keyOption what --api-key says; it wins over the environment
 * @param keyVariable what EMA_API_KEY says
 * @throws EmaError E_ARGUMENT
 */
export function serveAddress(
  host: string,
  port: string,
  keyOption: string | undefined,
  keyVariable: string | undefined,
): ServeAddress {
  const apiKey = keyOption ?? (keyVariable === "" ? undefined : keyVariable);
  if (apiKey !== undefined && !/^[\x21-\x7e]{1,256}$/.test(apiKey)) {
    const where = keyOption === undefined ? "EMA_API_KEY" : "--api-key";
    throw fault(`${where}: expected 1 to 256 visible ASCII characters without spaces`);
  }
  if (!/^[\w.:\-[\]]+$/.test(host)) throw fault(`--host "${host}": expected a name or an address`);
  if (!isLoopback(host) && apiKey === undefined) {
    throw fault(
      `--host ${host} lets other machines in: give --api-key KEY or set EMA_API_KEY, ` +
        "or stay on 127.0.0.1",
    );
  }
  const number = /^\d{1,5}$/.test(port) ? Number(port) : 65536;
  if (number > 65535) throw fault(`--port "${port}": expected a number from 0 to 65535`);
  return { host: host.replace(/^\[(.*)\]$/, "$1"), port: number, apiKey: apiKey ?? null };
}

/** The address as a client on this machine writes it. */
export function clientUrl(host: string, port: number): string {
  const isAny = host === "0.0.0.0" || host === "::";
  const name = isAny ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;
  return `http://${name}:${port}`;
}

/** A command that asks the server something; typed as it stands. */
export function curlLine(url: string, model: string, hasKey: boolean): string {
  const body = { model, messages: [{ role: "user", content: "Hello" }], max_tokens: 32 };
  const key = hasKey ? ` -H "authorization: Bearer $EMA_API_KEY"` : "";
  const json = JSON.stringify(body).replaceAll("'", "'\\''");
  return `curl ${url}/v1/chat/completions -H "content-type: application/json"${key} -d '${json}'`;
}

function fault(message: string): EmaError {
  return new EmaError("E_ARGUMENT", message);
}
