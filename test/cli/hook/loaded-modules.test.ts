/** A hook starts with every call of an agent: it loads the checker and parsers of policies only where one exists. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { compiled } from '../../harness/compiled.ts';
import { sourceBin } from '../../harness/switchgear-bin.ts';
import { bash, newSession } from '../../hooks/hook-session.ts';

/** The modules that one hook process loads; `policy` is written beside it. */
function loadedModules(context: TestContext, policy?: string): readonly string[] {
  const { folder, store, clear } = newSession();
  context.after(clear);
  if (policy !== undefined) writeFileSync(join(folder, 'switchgear.toml'), policy);
  const log = join(folder, 'loaded.txt');
  const recorder = join(folder, 'recorder.mjs');
  writeFileSync(
    recorder,
    `import { appendFileSync } from 'node:fs';
    import { registerHooks } from 'node:module';
    const record = (url) => appendFileSync(${JSON.stringify(log)}, url + '\\n');
    registerHooks({ load(url, context, next) { record(url); return next(url, context); } });`,
  );
  const { status, stderr } = spawnSync(process.execPath, ['--import', recorder, sourceBin, 'hook', 'claude-code'], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...compiled, PATH: process.env.PATH, HOME: folder, SWITCHGEAR_STORE: store },
    input: JSON.stringify({ session_id: 's-1', cwd: folder, ...bash('c1', 'ls').pre }),
  });
  assert.equal(status, 0, stderr);
  return readFileSync(log, 'utf8').trim().split('\n');
}

const policyModules =
  /\/src\/(?:document|policy\/(?:check|file|environment|index))|\/node_modules\/(?:smol-toml|yaml)\//;

test('a hook without a policy loads neither the checker nor a parser', (context) => {
  const loaded = loadedModules(context);
  assert.ok(
    loaded.some((url) => url.endsWith('/src/hooks/decide-call.ts')),
    'the hook decided on the call',
  );
  assert.deepEqual(
    loaded.filter((url) => policyModules.test(url)),
    [],
  );
});

test('a hook with a TOML policy loads the checker and the parser of TOML', (context) => {
  const loaded = loadedModules(context, '[task]\nmax_tool_calls = 5\n');
  assert.ok(loaded.some((url) => url.includes('/src/policy/check/')));
  assert.ok(loaded.some((url) => url.includes('/smol-toml/')));
});
