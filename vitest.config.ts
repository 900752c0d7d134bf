import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 60_000,
    // Two cores are what CI has; every test file is a process of its own and shares nothing.
    pool: "forks",
  },
});
