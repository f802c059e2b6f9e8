/** Agents that go on and on: failing tools, endless work, money, silence, the same words, a worker that cannot. */

import { isRefused } from '../index.ts';
import { scriptedAgent } from '../testing/index.ts';
import { endOf, type Mark, ranOf, type Scene } from './scene.ts';

const failingSearch: Scene = {
  title: 'The search is down. The agent asks it again, and again, and again.',
  short: 'retried a dead search',
  wanted: '500 calls',
  expected: { code: 'tool_loop', attempts: 8, ran: 5 },
  async play(stage) {
    const gear = stage.gear();
    const web_search = gear.guard('web_search', async (): Promise<string> => {
      throw Object.assign(new Error('Service Unavailable'), { status: 503 });
    });
    const agent = scriptedAgent([{ tool: 'web_search', args: ['quantum computing'], times: 500 }]);
    const result = await gear.task({}, (task) => agent({ tools: { web_search }, task }));
    return endOf(gear, 'web_search', result);
  },
};

const endlessReading: Scene = {
  title: 'The agent reads one page after another. Every call works; there is no end.',
  short: 'read the whole web',
  wanted: '200 calls',
  expected: { code: 'tool_call_limit', attempts: 51, ran: 50 },
  async play(stage) {
    const gear = stage.gear();
    const read_page = gear.guard('read_page', async (page: number) => `the text of page ${page}`);
    const agent = scriptedAgent(Array.from({ length: 200 }, (_, page) => ({ tool: 'read_page', args: [page] })));
    const result = await gear.task({}, (task) => agent({ tools: { read_page }, task }));
    return endOf(gear, 'read_page', result);
  },
};

const dearThoughts: Scene = {
  title: 'Each thought costs $4.50. The agent may spend $50 and wants 200 of them.',
  short: 'thought for $4.50 a time',
  wanted: '$900.00',
  expected: { code: 'token_spend_limit', attempts: 12, ran: 11 },
  async play(stage) {
    const gear = stage.gear();
    const used = { model: 'claude-sonnet-4', inputTokens: 1_000_000, outputTokens: 100_000 };
    const think = gear.guard('claude-sonnet-4', async (thought: number) => ({ thought, used }), {
      kind: 'model',
      worst: { cents: 450 },
      usage: (answer) => answer.used,
    });
    const agent = scriptedAgent(Array.from({ length: 200 }, (_, thought) => ({ tool: 'think', args: [thought] })));
    let spentCents = 0;
    const result = await gear.task({}, async (task) => {
      const transcript = await agent({ tools: { think }, task });
      spentCents = task.snapshot().spendCents;
      return transcript;
    });
    return endOf(gear, 'claude-sonnet-4', result, () => `$${(spentCents / 100).toFixed(2)} spent`);
  },
};

const silence: Scene = {
  title: 'The agent reads its mail, and then nothing is heard of it for three hours.',
  short: 'went silent',
  wanted: '3 hours',
  expected: { code: 'idle_timeout', attempts: 1, ran: 1 },
  async play(stage) {
    const gear = stage.gear();
    const read_mail = gear.guard('read_mail', async () => 'three letters');
    const running = gear.task({}, async (task) => {
      const transcript = await scriptedAgent([{ tool: 'read_mail' }])({ tools: { read_mail }, task });
      await new Promise((resolve) => task.signal.addEventListener('abort', resolve, { once: true }));
      return transcript;
    });
    await stage.clock.elapse(3 * 3_600_000);
    const result = await running;
    const silentSecs = result.status === 'halted' ? result.halt.counters.actual : 0;
    return endOf(gear, 'read_mail', result, () => `${silentSecs} s of silence`);
  },
};

const sameWords: Scene = {
  title: 'The agent announces the same thing over and over, and does nothing.',
  short: 'repeated itself',
  wanted: '100 texts',
  expected: { code: 'output_loop', attempts: 3, ran: 0 },
  async play(stage) {
    const gear = stage.gear();
    const agent = scriptedAgent([{ says: 'I will now look into the failing build once more.', times: 100 }]);
    const result = await gear.task({}, (task) => agent({ task }));
    return endOf(gear, 'says', result, (marks) => `${marks.length} texts`);
  },
};

const sameAnswer: Scene = {
  title: 'The agent looks up the same order again and again, with new words each time.',
  short: 'asked for what it knew',
  wanted: '94 calls',
  expected: { code: 'tool_loop', attempts: 10, ran: 7 },
  async play(stage) {
    const gear = stage.gear();
    const get_order = gear.guard('get_order', async (id: string) => `Order ${id}: sent on Monday, not delivered yet.`);
    const words = [
      'Let me check.',
      'One moment, please.',
      'I will look again.',
      'Perhaps it changed.',
      'Just to be sure:',
    ];
    const agent = scriptedAgent(
      Array.from({ length: 94 }, (_, at) => [
        { says: `${words[at % words.length]} (${at})` },
        { tool: 'get_order', args: ['W-1002'] },
      ]).flat(),
    );
    const result = await gear.task({}, (task) => agent({ tools: { get_order }, task }));
    return endOf(gear, 'get_order', result);
  },
};

const uselessWorker: Scene = {
  title: 'A supervisor asks the cooks for a chart. They cannot draw. It asks again.',
  short: 'asked cooks for a chart',
  wanted: '14 tries',
  expected: { code: 'delegation_limit', attempts: 3, ran: 2 },
  async play(stage) {
    const gear = stage.gear({ agent: 'Supervisor' });
    const marks: Mark[] = [];
    const result = await gear.task({}, async () => {
      for (let attempt = 0; attempt < 14; attempt++) {
        const answer = await gear.delegate('chef_team', () => 'I cannot draw charts. I do not have that ability.');
        marks.push(isRefused(answer) ? 'halted' : 'failed');
        if (isRefused(answer)) return;
      }
    });
    return {
      name: 'chef_team',
      marks,
      journal: gear.journal(),
      refusal: result.status === 'halted' ? result.halt : undefined,
      after: `${ranOf(marks)} delegations`,
    };
  },
};

export const spirals: readonly Scene[] = [
  failingSearch,
  endlessReading,
  dearThoughts,
  silence,
  sameWords,
  sameAnswer,
  uselessWorker,
];
