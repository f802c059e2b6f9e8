/** The stories of the adapter suite: scripted model behaviour and its required result in every framework. */

import assert from 'node:assert/strict';
import type { Entry } from '../core/event.ts';
import { haltOf } from '../core/messages/halt-of.ts';
import type { PolicyInput, Switchgear, SwitchgearOptions } from '../guard/api.ts';
import type { HostAbility, HostScene, HostTool, HostTranscript, HostTurn } from './adapter-harness.ts';
import { promisesSettled, type SimulatedClock } from './simulated-clock.ts';

/** The step limit of the host, far above the limits of the gear. */
export const stepsMax = 60;
const done: HostTurn = { text: 'Done.' };

/** The tools and helpers of one story. */
export interface AdapterStage {
  readonly clock: SimulatedClock;
  /** The number of executed calls per tool. */
  readonly reached: Readonly<Record<string, number>>;
  gear(policy?: PolicyInput, options?: SwitchgearOptions): Switchgear;
  play(gear: Switchgear | undefined, turns: readonly HostTurn[], scene?: Partial<HostScene>): Promise<HostTranscript>;
}

/** One story of the suite. */
export interface AdapterStory {
  readonly title: string;
  readonly needs?: readonly HostAbility[];
  run(stage: AdapterStage): Promise<void>;
}

const callTurn = (tool: string, input: Readonly<Record<string, unknown>> = {}): HostTurn => ({
  calls: [{ tool, input }],
});
const pageTurns = (count: number, tool = 'read'): HostTurn[] =>
  Array.from({ length: count }, (_, page) => callTurn(tool, { page }));
const parallelCalls = (count: number, tool: string): HostTurn => ({
  calls: pageTurns(count, tool).flatMap(({ calls = [] }) => calls),
});

const confirmed = {
  rules: [{ target: 'tool:pay', condition: 'amount>500', action: 'confirm', reason: 'Over $500.' }],
} as const;
const payment = callTurn('pay', { amount: 750 });

/** All stories of the suite. */
export const adapterStories: readonly AdapterStory[] = [
  {
    title: 'a run without refusals has the same messages, errors and steps as an unprotected run',
    async run({ gear, play, reached }) {
      const turns = [
        { ...callTurn('read', { page: 1 }), text: 'I look.' },
        parallelCalls(3, 'read'),
        callTurn('fragile'),
        done,
      ];
      const bare = await play(undefined, turns);
      const before = { ...reached };
      const guarded = await play(gear(), turns);
      assert.deepEqual(guarded.messages, bare.messages);
      assert.deepEqual(guarded.toolResults, bare.toolResults);
      assert.equal(guarded.modelCalls, bare.modelCalls);
      assert.equal(guarded.answer, 'Done.');
      assert.equal(guarded.halt, undefined);
      assert.deepEqual(reached, Object.fromEntries(Object.entries(before).map(([name, count]) => [name, count * 2])));
    },
  },
  {
    title: 'an endlessly repeated failing call runs 5 times, is refused twice, and ends the run within 9 model calls',
    needs: ['closes'],
    async run({ gear, play, reached }) {
      const { toolResults, modelCalls, answer, halt } = await play(gear(), [callTurn('broken')]);
      assert.equal(reached.broken, 5);
      assert.match(toolResults[5] ?? '', /circuit breaker open[\s\S]*60 ?s/);
      assert.match(toolResults[6] ?? '', /circuit breaker open/);
      assert.ok(toolResults.length <= 8, `${toolResults.length} proposals were answered`);
      assert.ok(modelCalls <= 9, `${modelCalls} model calls`);
      assert.equal(halt, 'tool_loop');
      assert.notEqual(answer, '');
    },
  },
  {
    title: 'the model reads the refusal of an open breaker, and the loop continues',
    async run({ gear, play, reached }) {
      const { toolResults, answer, halt } = await play(gear(), [
        ...pageTurns(6, 'broken'),
        callTurn('read', { page: 1 }),
        done,
      ]);
      assert.equal(reached.broken, 5);
      assert.equal(reached.read, 1);
      assert.match(toolResults[5] ?? '', /broken.*circuit breaker open[\s\S]*60 ?s/);
      assert.match(toolResults[6] ?? '', /^page 1/);
      assert.equal(answer, 'Done.');
      assert.equal(halt, undefined);
    },
  },
  {
    title: 'too many calls end the run with an answer and a reason for code',
    needs: ['closes'],
    async run({ gear, play, reached }) {
      const { answer, halt, modelCalls } = await play(gear({ task: { max_tool_calls: 3 } }), pageTurns(stepsMax));
      assert.equal(reached.read, 3);
      assert.equal(halt, 'tool_call_limit');
      assert.notEqual(answer, '');
      assert.ok(modelCalls <= 5, `${modelCalls} model calls`);
    },
  },
  {
    title: 'a limit of model calls is reached after that many calls, each counted once',
    needs: ['meters'],
    async run({ gear, play }) {
      const { answer, halt, modelCalls } = await play(gear({ task: { max_model_calls: 4 } }), pageTurns(stepsMax));
      assert.equal(halt, 'model_call_limit');
      // A host that only reports its usage is halted with the call that is one too many.
      assert.ok(modelCalls === 4 || modelCalls === 5, `${modelCalls} model calls`);
      assert.notEqual(answer, '');
    },
  },
  {
    title: 'a run over its budget makes no further model call and still ends with an answer',
    needs: ['meters'],
    async run({ gear, play, reached }) {
      const dear = pageTurns(stepsMax).map((turn) => ({ ...turn, tokens: 1_000_000 }));
      const { answer, halt, modelCalls } = await play(gear({ task: { max_spend_cents: 10 } }), dear);
      assert.equal(modelCalls, 1);
      assert.ok((reached.read ?? 0) <= 1, 'only a call that a stream started before its cost was known may run');
      assert.equal(halt, 'token_spend_limit');
      assert.notEqual(answer, '');
    },
  },
  {
    title: 'a repeated call with the same result ends the run',
    needs: ['closes'],
    async run({ gear, play, reached }) {
      const { halt, answer } = await play(gear(), [callTurn('read', { page: 1 })]);
      assert.equal(halt, 'tool_loop');
      assert.ok((reached.read ?? 0) < 20, `read ran ${reached.read} times`);
      assert.notEqual(answer, '');
    },
  },
  {
    title: 'an agent that keeps repeating a refused call is ended',
    needs: ['closes'],
    async run({ gear, play, reached }) {
      const approver = { name: 'ann', ask: () => Promise.reject(new Error('nobody can be asked')) };
      const turns = Array.from({ length: stepsMax }, (_, index) => callTurn('pay', { amount: 501 + index }));
      const { halt, modelCalls } = await play(gear(confirmed, { approver }), turns);
      assert.equal(reached.pay, undefined);
      assert.equal(halt, 'denial_limit');
      assert.ok(modelCalls <= 6, `${modelCalls} model calls`);
    },
  },
  {
    title: 'the same error from calls with different arguments ends the run',
    needs: ['closes'],
    async run({ gear, play, reached }) {
      const { halt, modelCalls, answer } = await play(gear(), pageTurns(stepsMax, 'broken'));
      assert.equal(reached.broken, 5);
      assert.ok(halt === 'denial_limit' || halt === 'tool_loop', `it ended with ${halt}`);
      assert.ok(modelCalls <= 11, `${modelCalls} model calls`);
      assert.notEqual(answer, '');
    },
  },
  {
    title: 'an agent that keeps delegating is ended at the limit of calls',
    needs: ['closes', 'delegates'],
    async run({ gear, play, reached }) {
      const turns = Array.from({ length: stepsMax }, (_, turn) => ({
        calls: Array.from({ length: 20 }, (_, page) => ({ tool: 'read', input: { page: 20 * turn + page } })),
      }));
      const { halt, modelCalls } = await play(gear(), turns, { workers: ['read'] });
      assert.equal(halt, 'tool_call_limit');
      assert.ok((reached.read ?? 0) <= 50, `${reached.read} workers were sent`);
      assert.ok(modelCalls <= 4, `${modelCalls} model calls`);
    },
  },
  {
    title: 'a call that is approved through the host runs once',
    needs: ['asks'],
    async run({ gear, play, reached }) {
      const { approvalsAsked, toolResults, answer, halt } = await play(gear(confirmed), [payment, done], {
        answers: 'approve',
      });
      assert.equal(approvalsAsked, 1);
      assert.equal(reached.pay, 1);
      assert.deepEqual(toolResults, ['paid 750']);
      assert.equal(answer, 'Done.');
      assert.equal(halt, undefined);
    },
  },
  {
    title: 'a call that is declined through the host does not run',
    needs: ['asks'],
    async run({ gear, play, reached }) {
      const { approvalsAsked, answer, halt } = await play(gear(confirmed), [payment, done], { answers: 'decline' });
      assert.equal(approvalsAsked, 1);
      assert.equal(reached.pay, undefined);
      assert.equal(answer, 'Done.');
      assert.equal(halt, undefined);
    },
  },
  {
    title: 'with at_limit = "error" the run ends with an error that holds the halt',
    needs: ['closes', 'throws'],
    async run({ gear, play, reached }) {
      const policy = { task: { max_tool_calls: 3, at_limit: 'error' } } as const;
      await assert.rejects(play(gear(policy), pageTurns(stepsMax)), (error) => {
        assert.equal(haltOf(error)?.code, 'tool_call_limit', String(error));
        return true;
      });
      assert.equal(reached.read, 3);
    },
  },
  {
    title: 'with at_limit = "ask" a limit is raised through the host, or the run halts',
    needs: ['asks', 'closes', 'raises'],
    async run({ gear, play, reached }) {
      const policy = { task: { max_tool_calls: 1, at_limit: 'ask' } } as const;
      const approved = await play(gear(policy), [...pageTurns(2), done], { answers: 'approve' });
      assert.deepEqual([approved.approvalsAsked, approved.halt, approved.answer], [1, undefined, 'Done.']);
      assert.equal(reached.read, 2);
      await play(gear(policy), [...pageTurns(2), done], { answers: 'decline' });
      assert.equal(reached.read, 3);
    },
  },
  {
    title: 'if the gear has an approver, it is asked during the run and the host is not',
    async run({ gear, play, reached }) {
      let questions = 0;
      const approver = { name: 'ann', ask: async () => ({ approved: ++questions > 0, by: 'ann' }) };
      const { approvalsAsked, answer } = await play(gear(confirmed, { approver }), [payment, done]);
      assert.deepEqual([questions, approvalsAsked], [1, 0]);
      assert.equal(reached.pay, 1);
      assert.equal(answer, 'Done.');
    },
  },
  {
    title: 'a throttled call waits until its time and then runs',
    async run({ gear, play, reached, clock }) {
      const rules = [{ target: 'tool:read', condition: 'frequency>1/1m', action: 'throttle' }] as const;
      const policy = { rules, rule_settings: { throttle: 'delay', max_delay_secs: 120 } } as const;
      const ended: HostTranscript[] = [];
      const running = play(gear(policy), [...pageTurns(2), done]).then((transcript) => ended.push(transcript));
      const waiting = clock.pending;
      await settleUntil(() => reached.read === 1 && clock.pending > waiting);
      for (let tick = 0; tick < 100; tick++) await promisesSettled();
      assert.equal(ended.length, 0);
      assert.equal(reached.read, 1);
      for (let secs = 0; secs < 120 && ended.length === 0; secs++) await clock.elapse(1000);
      await running;
      assert.equal(reached.read, 2);
      assert.equal(ended[0]?.answer, 'Done.');
    },
  },
  {
    title: 'parallel calls of one turn cannot exceed a limit together',
    needs: ['closes'],
    async run({ gear, play, reached }) {
      const { halt } = await play(gear({ task: { max_tool_calls: 3 } }), [parallelCalls(5, 'slow'), done]);
      assert.ok((reached.slow ?? 0) <= 3, 'the halt may abort calls that were running');
      assert.equal(halt, 'tool_call_limit');
    },
  },
  {
    title: 'a half-open breaker admits one of several parallel calls',
    async run({ gear, play, reached, clock }) {
      const tools: Record<string, HostTool> = { sleep: () => `slept ${clock.advance(61_000) ?? ''}` };
      const turns = [...pageTurns(5, 'broken'), callTurn('sleep'), parallelCalls(3, 'broken'), done];
      await play(gear({ tools: { sleep: { timeout_secs: 100 } } }), turns, { tools });
      assert.equal(reached.broken, 6);
    },
  },
  {
    title: 'a cancelled call does not count as a failure of its tool',
    needs: ['cancels'],
    async run({ gear, play }) {
      const guarded = gear();
      const stop = new AbortController();
      const hang: HostTool = (_, signal) =>
        new Promise((_resolve, reject) => {
          const end = () => reject(stop.signal.reason);
          (signal ?? stop.signal).addEventListener('abort', end, { once: true });
          setImmediate(() => stop.abort(new Error('the user left')));
        });
      await play(guarded, [callTurn('hang'), done], { tools: { hang }, signal: stop.signal }).catch(() => {});
      assert.equal(guarded.breaker('hang').stats.totalFailures, 0);
      assert.equal(guarded.breaker('hang').stats.totalNeutrals, 1);
    },
  },
  {
    title: 'a third delegation to a worker that failed twice is refused',
    needs: ['delegates'],
    async run({ gear, play, reached }) {
      const guarded = gear({ delegation: { on_trip: 'halt' } });
      const { halt, answer } = await play(guarded, pageTurns(stepsMax, 'broken'), { workers: ['broken'] });
      assert.equal(reached.broken, 2);
      assert.equal(halt, 'delegation_limit');
      assert.notEqual(answer, '');
      assert.deepEqual(Object.values(guarded.snapshot().delegations), [{ broken: 2 }]);
    },
  },
  {
    title: 'the failure of a nested worker counts once, for that worker only',
    needs: ['delegates', 'nests'],
    async run({ gear, play }) {
      const guarded = gear();
      const chef: HostTool = () =>
        guarded.delegate('cook', () => {
          throw new Error('no fire');
        });
      await play(guarded, [callTurn('chef'), done], { tools: { chef }, workers: ['chef'] });
      const failed = guarded.journal().flatMap((entry) => (isFailedReturn(entry) ? [entry.worker] : []));
      assert.deepEqual(failed, ['cook']);
    },
  },
  {
    title: 'a second user does not inherit the failed workers of the first',
    needs: ['delegates'],
    async run({ gear, play, reached }) {
      const guarded = gear({ delegation: { on_trip: 'halt' } });
      const first = await play(guarded, pageTurns(stepsMax, 'broken'), { workers: ['broken'] });
      assert.deepEqual([first.halt, reached.broken], ['delegation_limit', 2]);
      const second = await play(guarded, pageTurns(stepsMax, 'broken'), { workers: ['broken'] });
      assert.deepEqual([second.halt, reached.broken], ['delegation_limit', 4]);
    },
  },
  {
    title: 'a healthy report of a worker that contains "cannot" is no failure',
    needs: ['delegates'],
    async run({ gear, play, reached }) {
      const report: HostTool = ({ page }) =>
        `Found it: the parser of page ${page} cannot handle nested quotes. I rewrote it, and all ${page}2 tests pass.`;
      const turns = [...pageTurns(4, 'reporter'), done];
      const { halt, answer } = await play(gear(), turns, { tools: { reporter: report }, workers: ['reporter'] });
      assert.deepEqual([halt, answer, reached.reporter], [undefined, 'Done.', 4]);
    },
  },
  {
    title: 'a page that does not exist and wrong arguments are no failures of their tool',
    needs: ['errors'],
    async run({ gear, play, reached }) {
      const guarded = gear();
      const find: HostTool = ({ page }) => {
        if (page === 3) throw Object.assign(new TypeError('page must be a name'), { name: 'InvalidArguments' });
        throw Object.assign(new Error(`there is no page ${'abcdefg'[Number(page)]}`), { status: 404 });
      };
      const { answer } = await play(guarded, [...pageTurns(6, 'find'), done], { tools: { find } });
      assert.deepEqual([answer, reached.find], ['Done.', 6]);
      assert.equal(guarded.breaker('find').state, 'CLOSED');
      assert.equal(guarded.breaker('find').stats.totalFailures, 0);
    },
  },
  {
    title: 'parallel runs do not share their counts',
    needs: ['closes'],
    async run({ gear, play }) {
      const guarded = gear({ task: { max_tool_calls: 3 } });
      const turns = [...pageTurns(3), done];
      const both = await Promise.all([play(guarded, turns), play(guarded, turns)]);
      assert.deepEqual(
        both.map(({ answer, halt }) => [answer, halt]),
        [
          ['Done.', undefined],
          ['Done.', undefined],
        ],
      );
    },
  },
];

/** Waits until a condition holds: a step of a framework takes many ticks. */
export async function settleUntil(isDone: () => boolean, ticksMax = 10_000): Promise<void> {
  for (let tick = 0; tick < ticksMax && !isDone(); tick++) await promisesSettled();
}

function isFailedReturn(entry: Entry): entry is Extract<Entry, { type: 'delegation-returned' }> {
  return entry.type === 'delegation-returned' && entry.failed;
}
