/** Steps of the shrinker are scenarios, smaller each; what is not needed goes. */

import { describe, expect, it } from "vitest";
import { randomServer } from "../../tools/harm/random-server.ts";
import { scenarioOf, type ServerPlan } from "../../tools/harm/server-plan.ts";
import { shrink, simplerPlans } from "../../tools/harm/shrink.ts";

const plans = Array.from({ length: 12 }, (_, index) => randomServer(100 + index).plan);

/** A server is what its text is. */
const sizeOf = (plan: ServerPlan): number => JSON.stringify(plan).length;

describe("simpler plans", () => {
  it("are scenarios that can be run, and none is the one they came from", () => {
    for (const plan of plans) {
      const simpler = simplerPlans(plan, plan.scenario.engines[0]!.name);
      expect(simpler.length).toBeGreaterThan(0);
      for (const candidate of simpler) {
        expect(candidate).not.toEqual(plan);
        expect(candidate.scenario.engines[0]!.name).toBe(plan.scenario.engines[0]!.name);
        if (isWired(candidate)) expect(() => scenarioOf(candidate)).not.toThrow();
      }
    }
  });

  /** PCIe cards have no switch: the shrinker tries it all the same, and it does not hold. */
  function isWired({ scenario }: ServerPlan): boolean {
    const { gpus, links } = scenario.server;
    const isCard = gpus.some((gpu) => gpu.startsWith("rtx") || gpu.startsWith("l40"));
    return links === "pcie" || typeof links !== "string" || !isCard;
  }
});

describe("shrink", () => {
  it("leaves what shows the harm and little else", () => {
    const plan = plans.find(({ scenario }) => scenario.engines.length >= 4)!;
    const [first, second] = plan.scenario.engines;
    // The harm of this test: two engines together, and a pool that is not the default's.
    const small = shrink(plan, {
      engine: first!.name,
      holds: ({ scenario }) => scenario.engines.some(({ name }) => name === second!.name),
      triesMax: 1000,
    });
    expect(small.scenario.engines.map(({ name }) => name)).toEqual([first!.name, second!.name]);
    expect(small.scenario.server.gpus).toHaveLength(2);
    expect(small.scenario.pool).toEqual({ lenderShare: "2%" });
    expect(sizeOf(small)).toBeLessThan(sizeOf(plan) / 2);
  });

  it("keeps everything when nothing can go, and stops at its limit", () => {
    const plan = plans[0]!;
    const { name } = plan.scenario.engines[0]!;
    expect(shrink(plan, { engine: name, holds: () => false, triesMax: 1000 })).toBe(plan);
    let tries = 0;
    const holds = (): boolean => ++tries > 0;
    shrink(plan, { engine: name, holds, triesMax: 3 });
    expect(tries).toBe(3);
  });
});
