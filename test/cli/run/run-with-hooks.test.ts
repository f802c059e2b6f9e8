/** `switchgear run` around an agent with hooks: they refuse what they are asked about, the run ends what they halt. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Card } from '../../../src/core/card.ts';
import type { Entry } from '../../../src/core/event.ts';
import { bin } from '../../harness/switchgear-bin.ts';
import { createTestHome, type TestHome } from './run-cli.ts';

const long = { timeout: 120_000 };
const hooked = { FAKE_HOOKS: bin };

function home(context: TestContext): TestHome {
  const made = createTestHome();
  context.after(() => made.clear());
  return made;
}

async function journal({ run }: TestHome): Promise<readonly Entry[]> {
  const { out } = await run(['tail', '-n', '10000', '--json']);
  return out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Entry);
}

async function cards({ run }: TestHome): Promise<readonly Card[]> {
  return JSON.parse((await run(['inbox', 'list', '--json'])).out) as Card[];
}

test('a failing call runs five times, is refused twice and halts at call 8, with one report', long, async (context) => {
  const here = home(context);
  const { code, err } = await here.run(['run', '--quiet', '--', 'claude', '-p', 'spiral'], hooked);
  assert.equal(code, 75, err);
  assert.match(
    err,
    /halted claude-code: the same call of .Bash. failed 5 times.* although it was refused.*\n +calls 8 of 50/,
  );
  assert.doesNotMatch(err, /may already have run/, 'it was refused');
  const entries = await journal(here);
  const many = (type: Entry['type']) => entries.filter((entry) => entry.type === type).length;
  assert.deepEqual(
    [many('call-observed'), many('action-refused'), many('task-halted'), many('task-ended'), many('order-given')],
    [8, 3, 1, 1, 0],
  );
  assert.deepEqual(
    (await cards(here)).map(({ kind, code, actions }) => [kind, code, actions[0]]),
    [['halt', 'tool_loop', 'retry_raised']],
  );
});

test('an agent that stops repeating a refused call is not halted', long, async (context) => {
  const here = home(context);
  const { code, out, err } = await here.run(['run', '--quiet', '--', 'claude', '-p', 'heed,calls 3'], hooked);
  assert.deepEqual([code, out], [0, 'done after 9 calls\n'], err);
  assert.deepEqual(await cards(here), []);
  const types = new Set((await journal(here)).map(({ type }) => type));
  assert.ok(types.has('action-refused') && !types.has('task-halted'));
});

test('a retry raises the limit that a hook found reached', long, async (context) => {
  const here = home(context);
  const { code, err } = await here.run(['run', '--quiet', '--max-calls', '1', '--', 'claude', '-p', 'healthy'], hooked);
  assert.equal(code, 75, err);
  const [card] = await cards(here);
  assert.deepEqual([card?.code, card?.counters], ['tool_call_limit', { actual: 2, limit: 1 }]);
  const again = await here.run(['inbox', 'retry', card!.id], hooked);
  assert.match(again.err, /halted claude-code: tool calls: 3 of 2/);
});

test('a call counts once in a shared budget, even if both the run and the hooks see it', long, async (context) => {
  const here = home(context);
  const budget = '[[budgets]]\nscope = "session"\nunit = "calls"\nlimit = 3\n';
  writeFileSync(join(here.folder, 'switchgear.toml'), budget);
  const run = (calls: number) => here.run(['run', '--quiet', '--', 'claude', '-p', `calls ${calls}`], hooked);
  const [three, four] = await Promise.all([run(3), run(4)]);
  assert.deepEqual([three.code, three.out], [0, 'done after 3 calls\n'], three.err);
  assert.equal(four.code, 75, four.err);
  assert.match(four.err, /tool calls.*: 4 of 3/);
});

test('inside a run in observe mode, hooks refuse nothing', long, async (context) => {
  const here = home(context);
  const options = ['--quiet', '--observe', '--max-calls', '1'];
  const { code, out, err } = await here.run(['run', ...options, '--', 'claude', '-p', 'calls 2'], hooked);
  assert.deepEqual([code, out], [0, 'done after 2 calls\n'], err);
  assert.match(err, /would halt it: tool calls: 2 of 1/);
});
