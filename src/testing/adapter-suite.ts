/** The contract suite of adapters: the same stories in every framework, with a scripted model. */

import { describe, test } from 'node:test';
import { createSwitchgear } from '../guard/create-switchgear.ts';
import type { HostAbility, HostHarness, HostTool } from './adapter-harness.ts';
import { type AdapterStage, adapterStories, stepsMax } from './adapter-stories.ts';
import { hungStories } from './hung-stories.ts';
import { promisesSettled, simulatedClock } from './simulated-clock.ts';

/** Registers the stories of one adapter with `node:test`. */
export function adapterSuite(harness: HostHarness): void {
  describe(`the adapter for ${harness.name}`, () => {
    for (const { title, needs = [], run } of [...adapterStories, ...hungStories]) {
      const skip = needs.map((need) => explainLack(harness, need)).find((reason) => reason !== undefined);
      test(title, skip === undefined ? {} : { skip }, () => run(createStage(harness)));
    }
  });
}

/** Why a host lacks an ability; undefined if it has the ability. */
function explainLack({ lacks = [] }: HostHarness, need: HostAbility): string | undefined {
  if (!Array.isArray(lacks)) return (lacks as { readonly [ability in HostAbility]?: string })[need];
  return lacks.includes(need) ? `the host lacks: ${need}` : undefined;
}

function createStage(harness: HostHarness): AdapterStage {
  const clock = simulatedClock();
  const reached: Record<string, number> = {};
  const builtinTools: Record<string, HostTool> = {
    read: ({ page }) => `page ${page}`,
    slow: ({ page }) => promisesSettled().then(() => `page ${page}`),
    pay: ({ amount }) => `paid ${amount}`,
    fragile: () => {
      throw new Error('no such page');
    },
    broken: async () => {
      throw new Error('connection lost');
    },
  };
  const countCalls = (name: string, tool: HostTool): HostTool => {
    return (input, signal) => {
      reached[name] = (reached[name] ?? 0) + 1;
      return tool(input, signal);
    };
  };
  return {
    clock,
    reached,
    gear: (policy, options) =>
      createSwitchgear({ agent: 'Tester', clock, log: 'silent', env: {}, ...(policy && { policy }), ...options }),
    play: (gear, turns, scene = {}) => {
      const tools = Object.entries({ ...builtinTools, ...scene.tools }).map(([name, tool]) => [
        name,
        countCalls(name, tool),
      ]);
      return harness.run({ stepsMax, turns, gear, ...scene, tools: Object.fromEntries(tools) });
    },
  };
}
