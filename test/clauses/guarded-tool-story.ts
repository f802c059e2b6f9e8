/** Tells stories of one guarded tool: what it is made to do, what came of each call, and the state after it. */

import assert from 'node:assert/strict';
import {
  createSwitchgear,
  type GuardOptions,
  type PolicyInput,
  refusalOf,
  type SwitchgearOptions,
} from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';

/** What the tool does when it is called. */
export type Act = () => unknown;

/** A call and what must come of it, or seconds that pass; and the state after it. */
export type Row = readonly [act: Act | number, came: string, state: 'CLOSED' | 'OPEN' | 'HALF_OPEN'];

export const ok: Act = () => 'ok';

export const fail: Act = () => {
  throw new Error('down');
};

/** Does the same, some calls long. */
export function times(count: number, row: Row): Row[] {
  return Array.from({ length: count }, () => row);
}

/** The five failures that open a breaker of the default settings. */
export const trip: readonly Row[] = [...times(4, [fail, 'failed', 'CLOSED']), [fail, 'failed', 'OPEN']];

interface ToolOptions extends GuardOptions {
  readonly waits?: boolean;
  readonly healthCheck?: () => boolean | Promise<boolean>;
}

/** A gear on a clock that stands still, and tools that do as they are told. */
export function stage(policy: PolicyInput = {}, more: SwitchgearOptions = {}) {
  const clock = simulatedClock();
  const gear = createSwitchgear({
    agent: 'Researcher',
    session: 's-1',
    clock,
    log: 'silent',
    env: {},
    policy,
    ...more,
  });
  return {
    clock,
    gear,
    tool(name = 'my_tool', options: ToolOptions = {}) {
      const { waits, healthCheck, ...guarding } = options;
      if (healthCheck !== undefined) gear.breaker(name).checkHealth(healthCheck);
      let runs = 0;
      const now = (act: Act) => {
        runs++;
        return act();
      };
      const later = async (act: Act) => {
        runs++;
        await undefined;
        return act();
      };
      const call: (act: Act) => unknown = gear.guard(name, waits ? later : now, guarding);
      return {
        call,
        clock,
        breaker: gear.breaker(name),
        get metrics() {
          return gear.breaker(name).metrics();
        },
        get runs() {
          return runs;
        },
      };
    },
  };
}

export type Tool = ReturnType<ReturnType<typeof stage>['tool']>;

/** How a call ended: its value or its error, whichever came. */
export async function attempt(call: () => unknown): Promise<{ readonly value?: unknown; readonly error?: unknown }> {
  try {
    return { value: await call() };
  } catch (error) {
    return { error };
  }
}

/** How a call ended, in a word: its value, `failed`, or the code it was refused with, returned or thrown. */
export async function came(call: () => unknown): Promise<string> {
  const { value, error } = await attempt(call);
  const thrown = refusalOf(error);
  if (thrown !== undefined) return `threw ${thrown.code}`;
  return error === undefined ? (refusalOf(value)?.code ?? String(value)) : 'failed';
}

/** Plays the rows and compares what came of them. */
export async function tell(tool: Tool, rows: readonly Row[]): Promise<void> {
  const seen: string[] = [];
  for (const [act] of rows) {
    let said = `${act}`;
    if (typeof act === 'number') await tool.clock.elapse(act * 1000);
    else said = await came(() => tool.call(act));
    seen.push(`${said} -> ${tool.breaker.state}`);
  }
  const wanted = rows.map(([act, said, state]) => `${typeof act === 'number' ? act : said} -> ${state}`);
  assert.deepEqual(seen, wanted);
}

/** What the first refused call gets back: after five failures, or as many as are said. */
export async function refusedValue(tool: Tool, failures = 5): Promise<Readonly<Record<string, unknown>> | undefined> {
  for (let call = 0; call < failures; call++) await attempt(() => tool.call(fail));
  const { value } = await attempt(() => tool.call(fail));
  return value as Readonly<Record<string, unknown>> | undefined;
}
