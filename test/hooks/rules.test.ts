/** Written rules that forbid: the same line that stops a chain stops the call of an agent CLI. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bash, newSession } from './session.ts';

test('a rule for everybody that aborts refuses the call, ends the turn, and says so in sentences', async (context) => {
  const made = newSession();
  context.after(made.clear);
  const rule = { condition: 'ability:Bash', action: 'abort', reason: 'No shell here.' };
  writeFileSync(join(made.folder, 'switchgear.json'), JSON.stringify({ rules: [rule] }));
  const { said } = await made.send(bash('c1', 'ls').pre);
  assert.equal(said?.continue, false);
  assert.equal(said?.hookSpecificOutput?.permissionDecision, 'deny');
  assert.match(said?.stopReason ?? '', /^Switchgear halted this task: No shell here\. [A-Z]/);
  const later = await made.send(bash('c2', 'pwd').pre);
  assert.equal(later.said?.hookSpecificOutput?.permissionDecision, 'deny');
});
