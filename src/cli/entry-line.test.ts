import assert from 'node:assert/strict';
import test from 'node:test';
import type { Entry, EntryBody } from '../core/event.ts';
import { entryLine } from './entry-line.ts';

const line = (body: EntryBody, task?: string) =>
  entryLine({ seq: 1, atMs: 0, wallMs: 0, ...(task && { task }), ...body } as Entry, (text) => text).slice(10);

test('a line says when, what, and of which task', () => {
  const failed = { type: 'failure-counted', name: 'search', error: 'NetworkError', actual: 2, limit: 5 } as const;
  assert.equal(line(failed, 't-1'), 'failure-counted      search: NetworkError, 2 of 5  t-1');
  assert.equal(line({ type: 'task-stopped' }, 't-1'), 'task-stopped         t-1');
  const opened = { type: 'breaker-opened', key: 'k', name: 'search', generation: 2, cause: 'failures' } as const;
  assert.equal(
    line({ ...opened, untilMs: 60_000, counters: {} }),
    'breaker-opened       search: failures; refused for 60 s',
  );
  assert.match(line({ ...opened, untilMs: -1, counters: {} }), /refused until it is reset$/);
  const order = { type: 'order-given', order: 'halt', target: null, by: 'ann', reason: 'enough' } as const;
  assert.equal(line(order), 'order-given          halt all by ann: enough');
});

test('what comes from outside cannot steer a terminal', () => {
  const told = line({ type: 'task-missing', name: 'a\u001b[2Jb\r\n\u202ec' }, 't\u0007');
  assert.equal(told, 'task-missing         a·[2Jb·c  t·');
});

test('an entry of a newer Switchgear is a line, too', () => {
  assert.equal(line({ type: 'moon-landed' } as unknown as EntryBody), 'moon-landed');
});
