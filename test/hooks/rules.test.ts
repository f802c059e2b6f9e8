/** Written rules that forbid: the same line that stops a chain stops the call of an agent CLI. */

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bash, newSession } from './hook-session.ts';

test('an abort rule for all tools refuses the call and ends the turn with a reason', async (context) => {
  const hookSession = newSession();
  context.after(hookSession.clear);
  const rule = { condition: 'ability:Bash', action: 'abort', reason: 'No shell here.' };
  writeFileSync(join(hookSession.folder, 'switchgear.json'), JSON.stringify({ rules: [rule] }));
  const { output } = await hookSession.send(bash('c1', 'ls').pre);
  assert.equal(output?.continue, false);
  assert.equal(output?.hookSpecificOutput?.permissionDecision, 'deny');
  assert.match(output?.stopReason ?? '', /^Switchgear halted this task: No shell here\. [A-Z]/);
  const later = await hookSession.send(bash('c2', 'pwd').pre);
  assert.equal(later.output?.hookSpecificOutput?.permissionDecision, 'deny');
});
