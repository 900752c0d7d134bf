/** Who may ask: keys, and the names by which a server without one is reached. */

import { request } from "node:http";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isLoopback } from "../../src/server/index.ts";
import { startTestServer, type TestServer } from "./test-server.ts";

let open: TestServer;
let closed: TestServer;
beforeAll(async () => {
  open = await startTestServer();
  closed = await startTestServer({ apiKey: "sesame" });
});
afterAll(async () => {
  await open.close();
  await closed.close();
});

/** fetch does not let its caller choose the host's name. */
function statusAt(server: TestServer, path: string, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(`${server.url}${path}`, { headers: { host } }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode!));
    });
    sent.on("error", reject).end();
  });
}

describe("a key", () => {
  it("is asked for below /v1 and nowhere else", async () => {
    for (const path of ["/health", "/metrics", "/openapi.json"]) {
      expect((await fetch(`${closed.url}${path}`)).status).toBe(200);
    }
    for (const path of ["/v1/models", "/v1/models/fake", "/v1/none", "/v1/ema/requests/x/kv"]) {
      expect((await fetch(`${closed.url}${path}`)).status).toBe(401);
    }
    const answer = await fetch(`${closed.url}/v1/completions`, { method: "POST", body: "{}" });
    expect(answer.status).toBe(401);
  });

  it.each(["", "Bearer", "Bearer ", "Bearer sesam", "Bearer sesame2", "Basic sesame", "sesame"])(
    "as '%s' is not the key",
    async (authorization) => {
      const answer = await fetch(`${closed.url}/v1/models`, { headers: { authorization } });
      expect(answer.status).toBe(401);
      const { error } = (await answer.json()) as { error: { code: string; message: string } };
      expect(error.code).toBe("invalid_api_key");
      expect(error.message).not.toContain("sesame");
    },
  );

  it("is what the openai client sends; another is its AuthenticationError", async () => {
    expect((await closed.client.models.list()).data).toHaveLength(1);
    const stranger = new OpenAI({ baseURL: `${closed.url}/v1`, apiKey: "x", maxRetries: 0 });
    await expect(stranger.models.list()).rejects.toBeInstanceOf(OpenAI.AuthenticationError);
  });
});

describe("a host's name", () => {
  it("without a key must be loopback's", async () => {
    expect(await statusAt(open, "/v1/models", "localhost:1234")).toBe(200);
    expect(await statusAt(open, "/v1/models", "[::1]")).toBe(200);
    expect(await statusAt(open, "/v1/models", "evil.example")).toBe(403);
    expect(await statusAt(open, "/health", "127.0.0.1.evil.example")).toBe(403);
    expect(await statusAt(closed, "/health", "evil.example")).toBe(200);
  });

  it.each<[string, boolean]>([
    ["LOCALHOST", true],
    ["127.0.0.1", true],
    ["127.8.9.1", true],
    ["::1", true],
    ["0.0.0.0", false],
    ["::", false],
    ["192.168.0.1", false],
    ["localhost.example", false],
  ])("%s is loopback's: %s", (name, expected) => {
    expect(isLoopback(name)).toBe(expected);
  });
});
