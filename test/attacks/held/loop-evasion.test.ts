/** Agents that repeat themselves in disguise: each is stopped long before its budget of calls is used up. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, isRefused } from '../../../src/index.ts';
import { simulatedClock } from '../../../src/testing/index.ts';
import { type Attempts, holdAll } from './attempts.ts';

interface Turn {
  readonly args: readonly unknown[];
  /** A text is a result, an error a failure. */
  readonly result: string | Error;
  readonly says?: string;
}

const stopWithin = 25;
/** An answer that is long enough to say something, even of a tool that nobody knows. */
const answer =
  'The page says that there is nothing to see here, and that one should look elsewhere, or ask those who wrote it.';
const query = 'how to reset the password of the admin account on the staging server';
const blank = (at: number) => ' '.repeat(1 + (at % 7));
const zero = (at: number) => '\u200b'.repeat(1 + at);
const homoglyphs = ['a', '\u0430', 'á', '\u1d00', 'A'];
const time = (at: number) => new Date(1_700_000_000_000 + at * 61_000).toISOString();
const hex = (at: number) => ((at + 1) * 0x9e3779b1).toString(16).padStart(12, '0');

const disguises: Attempts<(at: number) => Turn> = [
  ['the same call', () => ({ args: [{ query }], result: answer })],
  ['blanks in the call', (at) => ({ args: [{ query: query.replaceAll(' ', blank(at)) }], result: answer })],
  ['blanks around the call', (at) => ({ args: [{ query: `${blank(at)}${query}\n${blank(at)}` }], result: answer })],
  [
    'zero-width characters',
    (at) => ({ args: [{ query: query.replace(' ', ` ${zero(at)}`) }], result: answer, says: 'again' }),
  ],
  [
    'a homoglyph',
    (at) => ({ args: [{ query: query.replace('a', homoglyphs[at % 5]!) }], result: answer, says: 'again' }),
  ],
  ['case', (at) => ({ args: [{ query: at % 2 ? query : query.toUpperCase() }], result: answer, says: 'again' })],
  ['punctuation', (at) => ({ args: [{ query: `${query}${'!'.repeat(at % 5)}` }], result: answer, says: 'again' })],
  ['the order of keys', (at) => ({ args: [at % 2 ? { query, page: 1 } : { page: 1, query }], result: answer })],
  ['a request id', (at) => ({ args: [{ query, request_id: hex(at) }], result: answer })],
  ['a nonce', (at) => ({ args: [{ query, nonce: hex(at) }], result: answer })],
  ['a timestamp', (at) => ({ args: [{ query, timestamp: time(at) }], result: answer })],
  [
    'a comment in the call, with words',
    (at) => ({ args: [{ command: `cat notes.md # ${hex(at)}` }], result: answer, says: 'I read the notes.' }),
  ],
  ['a date in the answer', (at) => ({ args: [{ query }], result: `${answer} As of ${time(at)}.` })],
  [
    'an id in the answer',
    (at) => ({ args: [{ query }], result: `${answer} request ${hex(at).slice(0, 8)}-4fd2-11ee-be56-0242ac120002` }),
  ],
  ['a duration in the answer', (at) => ({ args: [{ query }], result: `${answer} took ${at}.${at} ms` })],
  ['the same failure', () => ({ args: [{ query }], result: new Error('no such host') })],
  ['a random id in the error', (at) => ({ args: [{ query }], result: new Error(`no such host (trace ${hex(at)})`) })],
  ['numbers in the error', (at) => ({ args: [{ query }], result: new Error(`line ${at * 17}: no such host`) })],
  [
    'quoted parts in the error',
    (at) => ({ args: [{ query: `${query} ${at}` }], result: new Error(`no such host '${hex(at)}'`) }),
  ],
  [
    'one error of many calls',
    (at) => ({ args: [{ path: `/etc/${hex(at)}` }], result: new Error('permission denied') }),
  ],
  [
    'other words before the same call',
    (at) => ({ args: [{ query }], result: answer, says: `Attempt ${at}: let me look.` }),
  ],
  [
    'the same words without a call that is new',
    (at) => ({ args: [{ query, page: at % 2 }], result: answer, says: 'Let me look at this again.' }),
  ],
  ...[2, 3, 4, 5, 6, 7].map(
    (length) =>
      [
        `a cycle of ${length}`,
        (at: number) => ({
          args: [{ query: `${query} part ${at % length}` }],
          result: `${answer} Part ${at % length} of ${length}.`,
        }),
      ] as const,
  ),
  [
    'every second call fails',
    (at) => ({ args: [{ query, half: at % 2 }], result: at % 2 ? answer : new Error('flaky') }),
  ],
];

/** A disguise with inputs that are all new is a suspicion. */
const isUncertain = (name: string) => name === 'zero-width characters';

/** What becomes of an agent that calls one tool: its halt, and its cards. */
async function play(disguise: (at: number) => Turn, policy: Readonly<Record<string, unknown>>) {
  const clock = simulatedClock();
  const gear = createSwitchgear({ agent: 'A', log: 'silent', env: {}, clock, policy });
  let turn = disguise(0);
  const tool = gear.guard('look', async (..._args: unknown[]): Promise<string> => {
    if (typeof turn.result === 'string') return turn.result;
    throw turn.result;
  });
  let [made, refused] = [0, 0];
  const result = await gear.task({}, async (task) => {
    for (; made < stopWithin && task.halt === undefined; made++) {
      turn = disguise(made);
      if (turn.says !== undefined) task.observe({ type: 'assistant', text: turn.says, toolUse: true });
      const value = await tool(...turn.args).catch(() => undefined);
      if (isRefused(value)) refused++;
      if (isRefused(value) && task.halt === undefined) clock.advance(1);
      await clock.elapse(1_000);
    }
    return task.halt?.code;
  });
  return { ...result, made, refused, cards: gear.snapshot().cards.map(({ kind }) => kind) };
}

test('held: a loop in disguise is stopped before the limit of calls', async (context) => {
  await holdAll(context, disguises, async (disguise) => {
    const [name] = disguises.find(([, attack]) => attack === disguise)!;
    for (const policy of [{}, { loop: { tools: { look: 'read' } } }]) {
      const { status, value, made, refused, cards } = await play(disguise, policy);
      if (isUncertain(name)) {
        assert.deepEqual([status, refused, cards], ['done', 0, ['notice']], 'a suspicion stops nothing');
      } else {
        assert.equal(status, 'halted', `${made} calls were made`);
        assert.match(value ?? '', /^(tool_loop|output_loop|denial_limit)$/);
      }
    }
  });
});

test('held: progress is no loop: forty different calls with different results pass', async (context) => {
  await holdAll(context, [['forty pages', null]], async () => {
    const gear = createSwitchgear({ agent: 'A', log: 'silent', env: {}, clock: simulatedClock() });
    const tool = gear.guard('read', async (page: number) => `page ${page}: ${hex(page)} ${Math.sin(page)}`);
    const result = await gear.task({}, async (task) => {
      for (let page = 1; page <= 40; page++) {
        task.observe({ type: 'assistant', text: `Reading chapter ${page}: ${hex(page * 31)}`, toolUse: true });
        assert.ok(!isRefused(await tool(page)));
      }
    });
    assert.equal(result.status, 'done');
  });
});
