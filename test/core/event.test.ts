import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type EntryType, isTrace } from '../../src/core/event.ts';

test('plain allows, settlements and observations are traces; refusals and state changes are records', () => {
  const traces: readonly EntryType[] = [
    'action-allowed',
    'action-settled',
    'work-ended',
    'reservation-changed',
    'permit-renewed',
    'text-observed',
    'usage-observed',
    'call-observed',
    'user-observed',
    'sign-observed',
  ];
  const records: readonly EntryType[] = ['action-refused', 'task-halted', 'breaker-opened', 'notice', 'card-changed'];
  assert.deepEqual(traces.filter(isTrace), traces);
  assert.deepEqual(records.filter(isTrace), []);
});
