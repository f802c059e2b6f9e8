/** Huge and odd values in every place where a value comes in, with nothing and with everything kept of them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, isRefused, type Switchgear, type Task } from '../../../src/index.ts';
import { holdAll } from './attempts.ts';
import { oddValues } from './odd-values.ts';

const contents = ['none', 'full'] as const;

function gearOf(content: 'none' | 'full'): Switchgear {
  return createSwitchgear({
    agent: 'A',
    log: 'silent',
    env: {},
    policy: {
      journal: { level: 'all', content },
      rules: [
        { target: 'tool:ruled', condition: 'output:status|contains:stop', action: 'abort' },
        { target: 'tool:other', condition: 'amount>500', action: 'abort' },
      ],
    },
  });
}

type Place = (gear: Switchgear, task: Task, value: unknown) => unknown;

/** Each place takes the value, and throws where the caller would notice. */
const places: readonly (readonly [string, Place])[] = [
  [
    'argument',
    (gear, _, value) => {
      assert.equal(gear.guard('tool', (_value: unknown, at: number) => at)(value, 7), 7);
    },
  ],
  [
    'result',
    async (gear, _, value) => {
      assert.ok(Object.is(gear.guard('tool', () => value)(), value), 'the result was changed');
      const [inner] = (await gear.guard('later', async () => [value])()) as unknown[];
      assert.ok(Object.is(inner, value), 'the async result was changed');
    },
  ],
  [
    'error',
    (gear, _, value) => {
      const fail = gear.guard('tool', () => {
        throw value;
      });
      assert.throws(fail, (error) => Object.is(error, value));
    },
  ],
  [
    'words',
    (_gear, task, value) => {
      task.observe({ type: 'assistant', text: value as string });
      task.observe({ type: 'user', text: value as string });
    },
  ],
  [
    'observed call',
    (_gear, task, value) => {
      task.observe({ type: 'tool_use', id: 'c', name: 'seen', input: value });
      task.observe({ type: 'tool_result', id: 'c', ok: false, output: value });
      task.observe({ type: 'tool_use', id: value as string, name: value as string });
      task.observe({ type: 'tool_result', id: value as string, ok: value as boolean, output: { text: value } });
    },
  ],
  [
    'delegated work',
    async (gear, _, value) => {
      const answer = await gear.delegate('worker', async () => ({ report: value }), { request: value });
      assert.ok(isRefused(answer) || Object.is(answer.report, value));
    },
  ],
];

test('held: no value throws into the host, hangs it or is changed, wherever it comes in', async (context) => {
  const attempts = contents.flatMap((content) =>
    places.flatMap(([place, enter]) =>
      oddValues.map(([name, make]) => [`${name} as ${place}, content ${content}`, { content, enter, make }] as const),
    ),
  );
  await holdAll(
    context,
    attempts,
    async ({ content, enter, make }) => {
      const gear = gearOf(content);
      const result = await gear.task({ limits: { maxToolCalls: 100 } }, async (task) => {
        await enter(gear, task, make());
        return 'through';
      });
      assert.deepEqual([result.status, result.value], ['done', 'through']);
      assert.doesNotThrow(() => JSON.stringify(gear.snapshot()));
      const longest = Math.max(...gear.journal().map((entry) => JSON.stringify(entry).length));
      assert.ok(longest < 100_000, `an entry has ${longest} characters`);
      assert.equal(gear.snapshot().internalErrors, 0, 'an internal error was caught');
      gear.dispose();
    },
    80,
  );
});

test('held: names and ids may be any text', async (context) => {
  const names = [
    '',
    ' ',
    '__proto__',
    'constructor',
    'toString',
    '\0',
    'a/b/../c',
    '%2e%2e',
    '{x}',
    'x'.repeat(100_000),
  ];
  await holdAll(
    context,
    names.map((name) => [JSON.stringify(name.slice(0, 20)), name] as const),
    async (name) => {
      const short = name.slice(0, 256);
      const gear = createSwitchgear({ agent: short || 'A', session: short || 's', log: 'silent', env: {} });
      const fail = gear.guard(short || 'tool', (): string => {
        throw new Error('down');
      });
      for (let call = 0; call < 5; call++) assert.throws(fail, /down/);
      assert.ok(isRefused(fail()), 'the breaker did not open');
      const [other] = await Promise.all([gear.task({ id: short || 't' }, () => 'done')]);
      assert.equal(other.status, 'done');
      assert.equal(gear.breaker('other').state, 'CLOSED');
    },
  );
});
