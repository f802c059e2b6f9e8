/** A process that floods a gear with names, and says what is left of it: the heap, an open breaker, spent budgets. */

import { createSwitchgear, refusalOf } from '../../../src/index.ts';
import { simulatedClock } from '../../../src/testing/index.ts';

export type FloodName =
  | 'tasks'
  | 'tools'
  | 'workers'
  | 'sessions'
  | 'agents'
  | 'texts'
  | 'calls'
  | 'models'
  | 'entries';

export interface FloodReport {
  readonly heapMb: number;
  /** Codes of the refusals after the flood. */
  readonly breaker: string;
  readonly project: string;
  readonly global: string;
  readonly throws: number;
}

const [name = 'tasks', count = '1000'] = process.argv.slice(2) as [FloodName, string];
/** Time stands still: a breaker that is open stays so, however slow the machine is. */
const plain = { log: 'silent', env: {}, project: 'p', clock: simulatedClock() } as const;
const spentBudget = (scope: 'project' | 'global') => {
  const gear = createSwitchgear({ ...plain, policy: { budgets: [{ scope, unit: 'calls', limit: 10 }] } });
  const tool = gear.guard('tool', async (at: number) => at);
  return { gear, tool };
};

const gear = createSwitchgear({ ...plain, agent: 'A' });
const dead = gear.guard('dead', async (): Promise<string> => {
  throw new Error('down');
});
const budgets = [spentBudget('project'), spentBudget('global')];
for (let call = 0; call < 5; call++) await dead().catch(() => {});
for (const { gear: each, tool } of budgets) {
  await each.task({}, async () => {
    for (let call = 0; call < 10; call++) await tool(call);
  });
}

const tool = gear.guard('tool', (at: number) => at);
const long = gear.startTask({ id: 'long', limits: { maxToolCalls: 1_000_000_000, maxDenials: 1_000_000_000 } });
const floods: Record<FloodName, (at: number) => unknown> = {
  tasks: (at) => gear.task({ id: `t-${at}` }, () => tool(at)),
  tools: (at) => {
    const fails = gear.guard(`tool-${at}`, () => {
      throw new Error('x');
    });
    try {
      fails();
    } catch {
      // Every tool of the flood has a failure, so its breaker is kept.
    }
  },
  workers: (at) =>
    gear.task({ session: `s-${at % 1_000}` }, () => gear.delegate(`worker-${at}`, () => 'I cannot do that.')),
  sessions: (at) => gear.task({ session: `s-${at}` }, () => tool(at)),
  agents: (at) => gear.task({ agent: `agent-${at}` }, () => tool(at)),
  texts: (at) => long.observe({ type: 'assistant', text: `thought ${at} ${Math.sin(at)} ${Math.cos(at)}` }),
  calls: (at) => {
    long.observe({ type: 'tool_use', id: `c-${at}`, name: `n-${at}`, input: { at, text: `${Math.sin(at)}` } });
    return at % 2 === 0 ? long.observe({ type: 'tool_result', id: `c-${at}`, output: `${Math.cos(at)}` }) : undefined;
  },
  models: (at) => long.observe({ type: 'usage', model: `model-${at}`, inputTokens: 0, outputTokens: 0 }),
  entries: (at) => gear.addModelRules([`nonsense ${at}`]),
};

let throws = 0;
for (let at = 0; at < Number(count); at++) {
  try {
    await floods[name](at);
  } catch {
    throws++;
  }
}
for (const { gear: each } of budgets) {
  const others = Math.min(Number(count), 20_000);
  for (let at = 0; at < others; at++) await each.task({ id: `o-${at}`, session: `o-${at}` }, () => at);
}
globalThis.gc?.();
const heapMb = Math.round(process.memoryUsage().heapUsed / 1_048_576);
const codeOf = async (call: () => unknown) => refusalOf(await call())?.code ?? 'allowed';
const [project, global] = await Promise.all(
  budgets.map(({ gear: each, tool: spent }) => codeOf(async () => (await each.task({}, () => spent(99))).value)),
);
const report: FloodReport = {
  heapMb,
  breaker: await codeOf(() => dead()),
  project: project ?? '',
  global: global ?? '',
  throws,
};
console.log(JSON.stringify(report));
process.exit(0);
