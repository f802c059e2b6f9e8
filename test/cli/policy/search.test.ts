/** The search for the policy by the command, hooks and chains: one search for all of them. */

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { main } from '../../../src/cli/main.ts';
import { type HookSession, newSession } from '../../hooks/hook-session.ts';

interface Repository extends HookSession {
  readonly below: string;
  run(...args: readonly string[]): Promise<{ code: number; out: string; err: string }>;
}

/** A repository with a policy at its root, and a folder below it in which commands run. */
function repository(context: TestContext, policy: string): Repository {
  const session = newSession();
  context.after(() => session.clear());
  const below = join(session.folder, 'package');
  mkdirSync(below);
  mkdirSync(join(session.folder, '.git'));
  writeFileSync(join(session.folder, 'switchgear.toml'), policy);
  const run = async (...args: readonly string[]) => {
    const out: string[] = [];
    const err: string[] = [];
    const env = { HOME: session.folder, PATH: process.env.PATH, SWITCHGEAR_STORE: session.store };
    const terminal = { out: (line: string) => out.push(line), err: (line: string) => err.push(line) };
    const code = await main(args, { ...terminal, cwd: below, env, userHome: session.folder });
    return { code, out: out.join('\n'), err: err.join('\n') };
  };
  return { ...session, below, run };
}

test('policy check and explain find the policy of the repository from a folder below its root', async (context) => {
  const { run } = repository(context, '[task]\nmax_tool_calls = 3\n');
  const check = await run('policy', 'check');
  assert.match(check.out, /^OK: \.\.\/switchgear\.toml/);
  const explain = await run('policy', 'explain');
  assert.match(explain.out, /policy: \.\.\/switchgear\.toml, found above this folder; not looser/);
  assert.match(explain.out, /max_tool_calls +3 /);
});

test('what the policy above loosens waits for trust, which the printed command gives', async (context) => {
  const { run } = repository(context, '[task]\nmax_tool_calls = 300\n');
  const { out } = await run('policy', 'explain');
  const [, command = ''] = /waits for: switchgear (policy trust \S+)/.exec(out) ?? [];
  assert.equal(command, 'policy trust ../switchgear.toml');
});

test('a hook in a folder below takes the policy of the repository, and guards its file', async (context) => {
  const { send, below, folder } = repository(context, '[task]\nmax_tool_calls = 1\n');
  const call = (command: string) => ({
    hook_event_name: 'PreToolUse',
    tool_name: 'Bash',
    tool_input: { command },
    cwd: below,
  });
  const own = await send(call(`echo x > ${join(folder, 'switchgear.toml')}`));
  assert.notEqual(own.output?.hookSpecificOutput?.permissionDecision ?? 'allow', 'allow');
  await send(call('ls'));
  const halted = await send(call('ls src'));
  assert.match(JSON.stringify(halted.output), /of 1/);
});

test('chains take the policy of the repository', async (context) => {
  const { run, below } = repository(context, '[abilities]\nhttp = "yes"\n');
  writeFileSync(join(below, 'c.yaml'), 'id: c\nsteps: []\n');
  const { code, err } = await run('chain', 'lint', 'c.yaml');
  assert.equal(code, 1);
  assert.match(err, /abilities\.http must be true or false.*\.\.\/switchgear\.toml, line 2/);
});

test('policy init writes a starter, and overwrites no policy file in any format', async (context) => {
  const { run, below } = repository(context, '');
  const first = await run('policy', 'init');
  assert.equal(first.code, 0, first.err);
  assert.match(first.out, /takes the place of \.\.\/switchgear\.toml/);
  const text = readFileSync(join(below, 'switchgear.toml'), 'utf8');
  assert.match(text, /^# max_tool_calls = 50$/m);
  assert.equal((await run('policy', 'check')).code, 0);
  const again = await run('policy', 'init', '--preset', 'strict');
  assert.equal(again.code, 1);
  assert.match(again.err, /switchgear\.toml is here already, and is not overwritten/);
  assert.equal(readFileSync(join(below, 'switchgear.toml'), 'utf8'), text);
  const wrong = await run('policy', 'init', '--preset', 'stric');
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /did you mean strict\?/);
});
