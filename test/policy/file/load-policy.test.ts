import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { createSwitchgear, memoryStore, refusalOf } from '../../../src/index.ts';
import { sha256Hex } from '../../../src/platform/sha256.ts';
import { loadPolicy } from '../../../src/policy/file/load-policy.ts';
import { writeTrust } from '../../../src/policy/trust/trusted-files.ts';

/** A repository with a policy at its root; the working folder is below it. */
function enter(context: TestContext, policy: string | undefined) {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'switchgear-load-')));
  const folder = join(home, 'repository', 'package');
  mkdirSync(folder, { recursive: true });
  mkdirSync(join(home, 'repository', '.git'));
  if (policy !== undefined) writeFileSync(join(home, 'repository', 'switchgear.toml'), policy);
  const before = process.cwd();
  const env = { ...process.env };
  for (const name of Object.keys(process.env)) if (name.startsWith('SWITCHGEAR_')) delete process.env[name];
  Object.assign(process.env, { HOME: home, XDG_STATE_HOME: join(home, 'state') });
  process.chdir(folder);
  context.after(() => {
    process.chdir(before);
    process.env = env;
    rmSync(home, { recursive: true, force: true });
  });
  return { home, folder };
}

const mixed = '[task]\nmax_tool_calls = 400\nmax_idle_secs = 20\n';

test('loadPolicy() without a path finds the policy above; what loosens waits and is told', (context) => {
  const { home } = enter(context, mixed);
  const policy = loadPolicy();
  assert.equal(policy.settings.task.maxIdleSecs, 20);
  assert.equal(policy.settings.task.maxToolCalls, 50);
  const lines: string[] = [];
  const gear = createSwitchgear({ policy, log: (line) => lines.push(line) });
  context.after(() => gear.dispose());
  assert.match(
    lines.join('\n'),
    /task\.max_tool_calls loosens and waits for: switchgear policy trust \.\.\/switchgear/,
  );
  // Trust of the user puts the whole file in force.
  const trust = { file: 'x', by: 'test', atMs: 1 };
  writeTrust(sha256Hex(mixed), trust, join(home, 'state', 'switchgear'));
  assert.equal(loadPolicy().settings.task.maxToolCalls, 400);
});

test('loadPolicy() takes the file of SWITCHGEAR_POLICY whole, and the gear reports what it loosens', (context) => {
  const { home } = enter(context, undefined);
  writeFileSync(join(home, 'given.toml'), mixed);
  process.env.SWITCHGEAR_POLICY = join(home, 'given.toml');
  const policy = loadPolicy();
  assert.equal(policy.settings.task.maxToolCalls, 400);
  const gear = createSwitchgear({ policy, log: 'silent' });
  context.after(() => gear.dispose());
  assert.ok(
    [...gear.journal()].some((entry) => entry.type === 'setting-loosened' && entry.name === 'SWITCHGEAR_POLICY'),
  );
});

test('SWITCHGEAR_TRUST with the digest puts a found file in force', (context) => {
  enter(context, mixed);
  process.env.SWITCHGEAR_TRUST = sha256Hex(mixed);
  assert.equal(loadPolicy().settings.task.maxToolCalls, 400);
});

test('loadPolicy() without any file has the defaults, and a wrong file throws', (context) => {
  const { folder } = enter(context, undefined);
  assert.equal(loadPolicy().settings.task.maxToolCalls, 50);
  writeFileSync(join(folder, 'switchgear.toml'), 'mood = 1');
  assert.throws(() => loadPolicy(), { code: 'invalid_policy' });
  writeFileSync(join(folder, 'switchgear.json'), '{}');
  assert.throws(() => loadPolicy(), { code: 'ambiguous_policy' });
});

test('the project of a found policy is its folder: all folders below share its budgets', (context) => {
  const { folder } = enter(context, '[[budgets]]\nscope = "project"\nunit = "calls"\nlimit = 1\n');
  const store = memoryStore();
  const call = (name: string) => {
    mkdirSync(join(folder, name));
    process.chdir(join(folder, name));
    const gear = createSwitchgear({ policy: loadPolicy(), store, log: 'silent' });
    return refusalOf(gear.guard('tool', () => 'ran')())?.code;
  };
  assert.equal(call('one'), undefined);
  assert.notEqual(call('two'), undefined);
});
