/** What is said of the calls of a halted agent. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCallEvidence } from '../../../src/cli/run/evidence.ts';

test('a call reported by both the stream and a session file is listed once', () => {
  const evidence = createCallEvidence();
  const call = (id: string, command: string) =>
    evidence.feed({ type: 'tool_use', id, name: 'Bash', input: { command } });
  for (const id of ['1', '2', '1', '2']) call(id, 'npm test');
  call('3', 'ls');
  assert.deepEqual(evidence.describe(), ['the last call was: Bash ls', 'seen most often: Bash npm test (2 times)']);
});
