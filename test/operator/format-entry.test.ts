import assert from 'node:assert/strict';
import test from 'node:test';
import { defaultSettings } from '../../src/core/controls/defaults.ts';
import type { Entry, EntryBody } from '../../src/core/event.ts';
import { secsMax } from '../../src/core/limits.ts';
import { formatEntry } from '../../src/operator/format-entry.ts';

const line = (body: EntryBody, task?: string) =>
  formatEntry({ seq: 1, atMs: 0, wallMs: 0, ...(task && { task }), ...body } as Entry, (text) => text).slice(10);

test('a line contains the time, the event and the task', () => {
  const failed = { type: 'failure-counted', name: 'search', error: 'NetworkError', actual: 2, limit: 5 } as const;
  assert.equal(line(failed, 't-1'), 'failure-counted      search failed (2 of 5): NetworkError  t-1');
  assert.equal(
    line({ type: 'task-stopped' }, 't-1'),
    'task-stopped         its time limits stand still: it is paused, or waits for a person  t-1',
  );
  const opened = { type: 'breaker-opened', key: 'k', name: 'search', generation: 2, cause: 'failures' } as const;
  assert.equal(
    line({ ...opened, untilMs: 60_000, counters: {} }),
    'breaker-opened       search: it failed too often; refused for 60 s',
  );
  assert.match(line({ ...opened, untilMs: -1, counters: {} }), /refused until it is reset$/);
  const order = { type: 'order-given', order: 'halt', target: null, by: 'ann', reason: 'enough' } as const;
  assert.equal(line(order), 'order-given          halt all by ann: enough');
});

test('the start of a task names no limit that is off', () => {
  const limits = { ...defaultSettings.task, maxToolCalls: Number.MAX_SAFE_INTEGER, maxDurationSecs: secsMax };
  const started = { type: 'task-started', limits } as unknown as EntryBody;
  assert.match(line(started), /any number of calls, \$50, no time limit$/);
});

test('entries of chain runs are described in words', () => {
  const rows = [
    { rule: 'chain:c|a>1|abort', fired: false, limit: '1' },
    { rule: 'chain:c|ability:pay|confirm', fired: true, limit: 'pay' },
  ];
  const checked = { type: 'rules-checked', run: 'r', step: 'pay', rows } as const;
  assert.equal(line(checked, 'r'), 'rules-checked        pay: fired chain:c|ability:pay|confirm  r');
  assert.equal(line({ ...checked, step: '', rows: rows.slice(0, 1) }), 'rules-checked        1 rule passed');
  assert.equal(line({ type: 'run-started', run: 'r', chain: 'c' }, 'r'), 'run-started          chain c  r');
  const resolved = { type: 'run-resolved', run: 'r', chain: 'c', by: 'ann', how: 'redo' } as const;
  assert.equal(line(resolved), 'run-resolved         chain c: redo by ann');
  const ended = { type: 'run-ended', run: 'r', chain: 'c', status: 'aborted', code: 'rule_abort' } as const;
  assert.equal(line(ended), 'run-ended            chain c: aborted (rule_abort)');
  assert.equal(line({ type: 'step-started', run: 'r', step: 's', attempt: 2 }), 'step-started         s, attempt 2');
  const approved = { type: 'step-started', run: 'r', step: 's', attempt: 1, approvedBy: 'ann' } as const;
  assert.equal(line(approved), 'step-started         s, approved by ann');
  assert.equal(line({ type: 'step-ended', run: 'r', step: 's', status: 'done' }), 'step-ended           s: done');
  const standing = { type: 'standing-given', chain: 'c', rules: ['x'], by: 'ann' } as const;
  assert.equal(line(standing), 'standing-given       chain c by ann: x');
});

test('control characters in an entry do not reach the terminal', () => {
  const told = line({ type: 'task-missing', name: 'a\u001b[2Jb\r\n\u202ec' }, 't\u0007');
  assert.match(told, /^task-missing {9}a·\[2Jb·c was called outside a task: .* put gear\.task\(…\) around it {2}t·$/);
});

test('an entry type of a newer Switchgear version is printed as a line', () => {
  assert.equal(line({ type: 'moon-landed' } as unknown as EntryBody), 'moon-landed');
});
