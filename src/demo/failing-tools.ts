/** The scenes with failing tools and workers in the library, which refuses a call before it runs. */

import { type Refusal, refusalOf } from '../index.ts';
import { scriptedAgent } from '../testing/index.ts';
import { type AttemptMark, countRan, markAttempts, type Scene, summarizeScene } from './scene.ts';

const failingSearch: Scene = {
  title: 'The search is down for good. The agent asks it the same again and again.',
  short: 'retried a dead search',
  unprotected: '500 calls',
  expected: { code: 'tool_loop', attempts: 8, ran: 5 },
  async play(context) {
    const gear = context.gear();
    const web_search = gear.guard('web_search', async (): Promise<string> => {
      throw Object.assign(new Error('Service Unavailable'), { status: 503 });
    });
    const agent = scriptedAgent([{ tool: 'web_search', args: ['quantum computing'], times: 500 }]);
    const result = await gear.task({}, (task) => agent({ tools: { web_search }, task }));
    return summarizeScene(gear, 'web_search', result);
  },
};

const outage: Scene = {
  title: 'The search is down for a minute. The circuit opens, and closes again.',
  short: 'met a search that was down',
  unprotected: 'an answer',
  expected: { code: 'circuit_open', attempts: 9, ran: 8 },
  async play(context) {
    const gear = context.gear();
    let isDown = true;
    const web_search = gear.guard('web_search', async (query: string): Promise<string> => {
      if (isDown) throw Object.assign(new Error('Service Unavailable'), { status: 503 });
      return `what is known about ${query}`;
    });
    const ask = (from: number, times: number) =>
      scriptedAgent(
        Array.from({ length: times }, (_, at) => ({ tool: 'web_search', args: [`tides, part ${from + at}`] })),
      );
    const first = await gear.task({}, (task) => ask(1, 6)({ tools: { web_search }, task }));
    isDown = false;
    await context.clock.elapse(60_000);
    const second = await gear.task({}, (task) => ask(6, 3)({ tools: { web_search }, task }));
    const parts = [first, second].flatMap(({ value }) => value ?? []);
    const marks = parts.flatMap(markAttempts);
    const refusal = parts.flatMap(({ refusals }) => refusals)[0];
    return {
      name: 'web_search',
      marks,
      journal: gear.journal(),
      refusal,
      after: `${marks.length - 1} calls, 1 refused`,
    };
  },
};

const uselessWorker: Scene = {
  title: 'A supervisor asks the cooks for a chart. They cannot draw. It asks again.',
  short: 'asked cooks for a chart',
  unprotected: '14 tries',
  expected: { code: 'delegation_limit', attempts: 3, ran: 2 },
  async play(context) {
    const gear = context.gear({ agent: 'Supervisor' });
    const marks: AttemptMark[] = [];
    let refusal: Refusal | undefined;
    await gear.task({}, async () => {
      for (let attempt = 0; attempt < 14 && refusal === undefined; attempt++) {
        const answer = await gear.delegate('chef_team', () => 'I cannot draw charts. I do not have that ability.');
        refusal = refusalOf(answer);
        marks.push(refusal === undefined ? 'failed' : 'refused');
      }
    });
    return {
      name: 'chef_team',
      marks,
      journal: gear.journal(),
      refusal,
      after: `${countRan(marks)} delegations`,
    };
  },
};

export const failingToolScenes: readonly Scene[] = [failingSearch, outage, uselessWorker];
