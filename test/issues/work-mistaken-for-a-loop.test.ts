/** Work that was taken for a loop: recoveries, batches, polls in code; and what the model is told, once. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, refusalOf, type SwitchgearOptions, type Task } from '../../src/index.ts';
import { replay, simulatedClock } from '../../src/testing/index.ts';

function gearOf(policy: Readonly<Record<string, unknown>> = {}, more: Partial<SwitchgearOptions> = {}) {
  const clock = simulatedClock();
  const task = { max_tool_calls: 1_000, max_idle_secs: 10_000 };
  const gear = createSwitchgear({ clock, log: 'silent', env: {}, policy: { task, ...policy }, ...more });
  return { gear, clock };
}

const fails = async () => {
  throw new Error('no such host');
};

/** What came of a call, in a letter: ran, failed, denied, halted. */
async function letterOf(call: () => unknown): Promise<string> {
  try {
    const refusal = refusalOf(await call());
    return refusal === undefined ? 'r' : refusal.kind.charAt(0);
  } catch {
    return 'f';
  }
}

test('equal calls made after the retry time of the breaker are not a loop', async () => {
  const { gear, clock } = gearOf();
  let isUp = false;
  const read = gear.guard('read', async () => (isUp ? 'here you are' : fails()));
  let story = '';
  const { status } = await gear.task({}, async () => {
    for (let i = 0; i < 6; i++) story += await letterOf(read);
    isUp = true;
    for (let i = 0; i < 4; i++) {
      clock.advance(61_000);
      story += await letterOf(read);
    }
  });
  assert.deepEqual([story, status], ['fffffdrrrr', 'done']);
});

test('an endless failing call without a breaker runs five times, is refused twice, and halts', async () => {
  const { gear } = gearOf({ circuit_breaker: { mode: 'off' } });
  const read = gear.guard('read', fails);
  let story = '';
  const { status } = await gear.task({}, async () => {
    for (let i = 0; i < 8; i++) story += await letterOf(read);
  });
  assert.deepEqual([story, status], ['fffffddh', 'halted']);
});

test('a short answer of an unknown tool may come twelve times, a longer one five times', async () => {
  for (const [answer, story] of [
    ['o'.repeat(99), 'rrrrrrrrrrrrddh'],
    ['o'.repeat(100), 'rrrrrddh'],
  ] as const) {
    const { gear } = gearOf();
    const press = gear.guard('press', () => answer);
    const { status } = await gear.task({}, async (task) => {
      for (const [at, expected] of [...story].entries()) {
        assert.equal(await letterOf(press), expected, `${at + 1}`);
        assert.equal(task.hint() !== undefined, at === 4, `${at + 1}`);
      }
    });
    assert.equal(status, 'halted');
  }
});

/** Tells turns of an agent; the number of the turn after which it is halted, and the code of the halt. */
function haltOf(turn: (task: Task, n: number) => void, policy: Readonly<Record<string, unknown>> = {}) {
  const task = gearOf(policy).gear.startTask();
  for (let n = 1; n <= 60; n++) {
    turn(task, n);
    if (task.halt !== undefined) return [n, task.halt.code];
  }
  return [0, undefined];
}

function observeCall(task: Task, id: string, name: string, input: unknown, output: string, ok = true) {
  task.observe({ type: 'tool_use', id, name, input });
  task.observe({ type: 'tool_result', id, output, ok });
}

test('short replies to a prompt that comes again and again are no loop, longer ones are', () => {
  const replies = (text: string) => (task: Task) => {
    task.observe({ type: 'user', text: 'Read the list of tasks. If nothing is to do, say so.' });
    task.observe({ type: 'assistant', text, toolUse: false });
  };
  assert.deepEqual(haltOf(replies('HEARTBEAT_OK')), [0, undefined]);
  assert.deepEqual(haltOf(replies('All well.')), [0, undefined]);
  assert.deepEqual(haltOf(replies('Nothing to do.')), [3, 'output_loop']);
  const speaks = (task: Task) => void task.observe({ type: 'assistant', text: 'HEARTBEAT_OK', toolUse: false });
  assert.deepEqual(haltOf(speaks), [3, 'output_loop'], 'without a prompt');
});

test('the same text before each call is no loop by itself, unless a row may include calls', () => {
  const narrates = (task: Task, n: number) => {
    task.observe({ type: 'assistant', text: 'I say the next word of the poem.', toolUse: true });
    observeCall(task, `c${n}`, 'Bash', { command: `echo ${n}` }, `${n}`);
  };
  assert.deepEqual(haltOf(narrates), [0, undefined]);
  assert.deepEqual(haltOf(narrates, { loop: { row_across_calls: true } }), [3, 'output_loop']);
});

test('versions of a long file that differ in the middle alone are changes; two of them in turn are a loop', () => {
  const file = (middle: string) => `${'a line\n'.repeat(5_000)}${middle}${'a line\n'.repeat(5_000)}`;
  const tries = (version: (n: number) => string) => (task: Task, n: number) => {
    observeCall(task, `w${n}`, 'Write', { file_path: 'a.txt', content: file(version(n)) }, 'written');
    observeCall(
      task,
      `e${n}`,
      'Edit',
      { file_path: 'b.txt', old_string: file('?'), new_string: file(version(n)) },
      'ok',
    );
    observeCall(task, `t${n}`, 'Bash', { command: 'npm test' }, 'one test fails', false);
  };
  assert.deepEqual(haltOf(tries((n) => `${n}`)), [0, undefined]);
  assert.deepEqual(haltOf(tries((n) => 'ab'[n % 2]!)), [8, 'tool_loop'], 'ten calls after the fourth turn');
});

test('a batch of similar calls with different arguments and equal long results is not a loop', async () => {
  const { gear } = gearOf();
  const { status } = await gear.task({}, (task) => {
    for (let i = 0; i < 40; i++) {
      const id = `c${i}`;
      const input = { table: 'users', name: `name${i}`, email: `u${i}@example.com`, role: 'member' };
      task.observe({ type: 'assistant', text: `Now I add user ${i} to the table of all users.`, toolUse: true });
      task.observe({ type: 'tool_use', id, name: 'insert_row', input });
      task.observe({ type: 'tool_result', id, output: 'The row was inserted into the table users, one row affected.' });
    }
  });
  assert.equal(status, 'done');
});

test('a call that was asked about and then runs is not compared with itself for similarity', async () => {
  const rules = [{ target: 'tool:pay', condition: 'amount>500', action: 'confirm' }];
  const approver = { name: 'boss', ask: async () => ({ approved: true, by: 'ann' }) };
  const { gear } = gearOf({ rules, journal: { level: 'all' } }, { approver });
  const pay = gear.guard('pay', async (_: object) => 'paid');
  await gear.task({}, async (task) => {
    for (let i = 0; i < 2; i++) task.observe({ type: 'assistant', text: 'I pay what is due to the office today.' });
    await pay({ amount: 600, to: 'the office', for: 'rent of the whole of May' });
    await pay({ amount: 700, to: 'the office', for: 'rent of the whole of May' });
  });
  const likeness = gear.journal().flatMap((entry) => (entry.type === 'action-settled' ? [entry.likeness ?? 0] : []));
  assert.equal(likeness[0], 0);
  assert.ok(likeness[1]! > 0.5, `${likeness[1]}`);
});

test('a loop hint never changes the result of a guarded function, and waits in the task', async () => {
  const rows: string[] = [
    'running',
    '',
    '{"a": 1}',
    'name,age\nann,7',
    'a.txt\nb.txt',
    '---\ntitle: a page',
    'Nothing was found here.',
    'Nothing was found here.\n1 page was read.',
  ];
  for (const text of rows) {
    const { gear } = gearOf();
    const read = gear.guard('read', () => text);
    await gear.task({}, (task) => {
      const answers = Array.from({ length: 5 }, () => read());
      assert.deepEqual(new Set(answers), new Set([text]));
      assert.notEqual(task.hint(), undefined, text);
      assert.equal(task.hint(), undefined, text);
    });
  }
});

test('the model gets another hint only after progress, and not about an earlier loop', async () => {
  const { gear } = gearOf();
  const read = gear.guard('read', (page: number, isNew = false) => ({ page, at: isNew ? `page ${page}` : 'same' }));
  await gear.task({}, (task) => {
    const told = () => gear.journal().filter(({ type }) => type === 'loop-suspected').length;
    for (let i = 0; i < 6; i++) read(1);
    assert.equal(told(), 1);
    read(50, true);
    read(1);
    assert.equal(told(), 1, 'a single step aside');
    for (let i = 0; i < 12; i++) read(100 + i, true);
    assert.equal(task.hint(), undefined, 'it moved on by itself');
    for (let i = 0; i < 6; i++) read(2);
    assert.equal(told(), 2);
  });
});

test('a replay of a journal with hints, refusals and halts by loops gives the same decisions', async () => {
  const stories: ((task: Task, read: (key: unknown) => unknown, fail: () => unknown) => unknown)[] = [
    async (_, read) => {
      for (let i = 0; i < 12; i++) await read('same');
    },
    async (_, _read, fail) => {
      for (let i = 0; i < 12; i++) await letterOf(fail);
    },
    async (_, read) => {
      for (let i = 0; i < 40; i++) await read(i % 3);
    },
    (task) => {
      for (let i = 0; i < 40; i++) {
        task.observe({ type: 'assistant', text: 'I will look at the very same page again.', toolUse: true });
        task.observe({ type: 'tool_use', id: `c${i}`, name: 'Read', input: { page: i % 2 } });
        task.observe({ type: 'tool_result', id: `c${i}`, output: `page ${i % 2 === 0 ? 'one' : 'two'}` });
      }
    },
  ];
  for (const [at, story] of stories.entries()) {
    const { gear } = gearOf({ journal: { level: 'all' } });
    const read = gear.guard('read', async (key: unknown) => `what ${key} holds`);
    const fail = gear.guard('fail', fails);
    const { status } = await gear.task({}, (task) => story(task, read, fail));
    const { decisions, differences } = replay(gear.journal(), gear.settings);
    assert.equal(status, 'halted', `story ${at}`);
    assert.deepEqual(differences, [], `story ${at}`);
    assert.ok(decisions > 0);
  }
});

test('a name or an id that is not a string is never converted with toString', async () => {
  const { gear } = gearOf();
  const hostile = {
    toString() {
      throw new Error('no text');
    },
  };
  await gear.task({}, (task) => {
    for (let i = 0; i < 3; i++) {
      task.observe({ type: 'tool_use', id: hostile as never, name: hostile as never, input: {} });
      task.observe({ type: 'tool_result', id: hostile as never, output: 'same' });
    }
  });
  assert.equal(gear.snapshot().internalErrors, 0);
});
