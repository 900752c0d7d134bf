/** The public face of the HTTP server: engines in, an OpenAI-compatible API out. */

export { isLoopback } from "./access-checks.ts";
export { HttpServer } from "./http-server.ts";
export type { HostedEngine, Prompter } from "./hosted-engine.ts";
export {
  SERVER_LIMITS,
  serverContext,
  type ServerContext,
  type ServerLimits,
  type ServerSettings,
} from "./server-context.ts";
