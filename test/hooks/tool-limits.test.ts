import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { bash, newSession } from './hook-session.ts';

test('hooks hold the limits of one tool: in a task, and in the session', async (context) => {
  const session = newSession();
  context.after(() => session.clear());
  writeFileSync(join(session.folder, 'switchgear.toml'), '[tools.Bash]\nmax_calls = 2\nmax_calls_session = 3\n');
  let calls = 0;
  const decide = async () => {
    const { pre, post } = bash(`c${++calls}`, `echo ${calls}`);
    const { output } = await session.send(pre);
    const decision = output?.hookSpecificOutput?.permissionDecision ?? 'allow';
    if (decision === 'allow') await session.send(post);
    return decision;
  };
  const prompt = () => session.send({ hook_event_name: 'UserPromptSubmit', prompt: `go on ${calls}` });
  await prompt();
  assert.deepEqual([await decide(), await decide(), await decide()], ['allow', 'allow', 'deny']);
  await prompt();
  assert.deepEqual([await decide(), await decide()], ['allow', 'deny']);
});
