/** A store that cannot be written holds hooks to their word: a call that cannot be counted is refused. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { after, test } from 'node:test';
import { createTestHome } from '../../cli/run/run-cli.ts';
import { bin } from '../../harness/switchgear-bin.ts';

const home = createTestHome();
after(() => home.clear());

/** Sends a call to a hook whose files may grow to some blocks only, as on a full disk. */
function propose(id: string, blocks: string) {
  const call = { tool_name: 'Read', tool_use_id: id, tool_input: { file_path: id } };
  return spawnSync(
    '/bin/sh',
    ['-c', `ulimit -f ${blocks}; exec "$@"`, 'sh', process.execPath, bin, 'hook', 'claude-code', '--timeout', '4'],
    {
      cwd: home.folder,
      env: { HOME: home.folder, PATH: process.env.PATH, SWITCHGEAR_STORE: home.store },
      input: JSON.stringify({ hook_event_name: 'PreToolUse', session_id: 's', cwd: home.folder, ...call }),
      encoding: 'utf8',
    },
  );
}

test('a hook refuses every call while its store cannot be written, and says why on stderr', () => {
  assert.deepEqual([propose('first', 'unlimited').status, propose('second', 'unlimited').stdout], [0, '']);
  for (const id of ['third', 'fourth']) {
    const { status, stdout, stderr } = propose(id, '40');
    assert.equal(status, 0, stderr);
    assert.match(stdout, /"permissionDecision":"deny"/);
    assert.match(stderr, /switchgear: hook: .*store/);
  }
  assert.equal(propose('fifth', 'unlimited').stdout, '');
});
