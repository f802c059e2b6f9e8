/** Policy files that are written to keep a hook busy until its host runs the call without an answer. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { hookTimeoutMs } from '../../src/core/limits.ts';
import { compiled } from '../harness/compiled.ts';
import { bin } from '../harness/switchgear-bin.ts';
import { bash, newSession } from '../hooks/hook-session.ts';

/** The answer and the messages for one call in a folder with a policy. A hook past the host's timeout is killed. */
function answerWithPolicy(context: TestContext, name: string, policy: string): string {
  const { folder, store, clear } = newSession();
  context.after(clear);
  writeFileSync(join(folder, name), policy);
  const { stdout, stderr, signal } = spawnSync(process.execPath, [bin, 'hook', 'codex'], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...compiled, PATH: process.env.PATH, HOME: folder, SWITCHGEAR_STORE: store },
    input: JSON.stringify({ session_id: 's-1', cwd: folder, ...bash('c1', 'ls').pre }),
    timeout: hookTimeoutMs / 2,
  });
  assert.equal(signal, null, 'the hook answered in time');
  return stdout + stderr;
}

test('attack 27: a TOML key of 40,000 parts is refused before it is parsed', (context) => {
  const key = new Array(40_000).fill('a').join('.');
  assert.match(answerWithPolicy(context, 'switchgear.toml', `${key} = 1\n`), /too many parts/);
});

test('attack 27: parts of a key that are quoted are counted', (context) => {
  const key = new Array(40_000).fill('"=#"').join('.');
  assert.match(answerWithPolicy(context, 'switchgear.toml', `${key} = 1\n`), /too many parts/);
});

test('attack 27: four thousand patterns of tools are checked, and the call is decided', (context) => {
  const tools = Array.from({ length: 4_000 }, (_, at) => `[tools."*a${at}*"]\nfailure_threshold = 3\n`);
  assert.equal(answerWithPolicy(context, 'switchgear.toml', tools.join('')), '');
});

test('attack 27: sixty thousand keys of YAML and JSON are refused before they are parsed', (context) => {
  const names = Array.from({ length: 60_000 }, (_, at) => `k${at}`);
  const yaml = names.map((name) => `${name}: 1`).join('\n');
  assert.match(answerWithPolicy(context, 'switchgear.yaml', yaml), /bytes|more than 25000/);
  const short = `{${names.slice(0, 26_000).map((name) => `"${name}":1`)}}`;
  assert.match(answerWithPolicy(context, 'switchgear.json', short), /bytes|more than 25000/);
});

test('attack 27: nesting is refused before it is parsed', (context) => {
  for (const deep of ['['.repeat(100_000), '- '.repeat(100_000), '? '.repeat(100_000)])
    assert.match(answerWithPolicy(context, 'switchgear.yaml', deep), /nested too deeply/);
});
