/** The public face of validation: a real engine's request log against the same work simulated. */

export { validate, type ValidateInputs } from "./validate.ts";
export type { Validation, StatisticName, Statistic } from "./statistics.ts";
