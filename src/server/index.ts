/** The public face of the HTTP server: engines in, an OpenAI-compatible API out. */

export { application } from "./application.ts";
export { HttpServer } from "./http-server.ts";
export { EngineDirectory } from "./engine-directory.ts";
export { GenerationDesk } from "./generation-desk.ts";
export { ServerMetrics } from "./metrics.ts";
export type {
  ChatMessage,
  ChatRole,
  ChatTemplate,
  KvPlace,
  ServedEngine,
} from "./served-engine.ts";
export { SERVER_LIMITS, type ServerContext, type ServerLimits } from "./server-context.ts";
