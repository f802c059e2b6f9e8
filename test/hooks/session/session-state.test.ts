import assert from 'node:assert/strict';
import { test } from 'node:test';
import { emptySession, readSession, storeSession } from '../../../src/hooks/session/session-state.ts';

test('a stored session has the documented keys and reads back unchanged', () => {
  const lock = { owner: 'a', untilMs: 5 };
  const agents = { worker: { task: 't/worker', root: 't', type: 'explorer', delegation: 'call-1' } };
  const state = { ...emptySession, lock, task: 't', tasks: 1, agents };
  const stored = storeSession(state);
  assert.deepEqual(stored, {
    turn: lock,
    task: 't',
    tasks: 1,
    older: [],
    prompts: [],
    agents: { worker: { task: 't/worker', root: 't', type: 'explorer', errand: 'call-1' } },
    errands: {},
    returned: {},
  });
  assert.deepEqual(readSession(stored), state);
});
