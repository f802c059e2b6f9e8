/** A policy in a program that a bundler made: it holds, given inline, checked, or by the environment. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { build } from 'esbuild';
import { root } from './harness/source.ts';

async function run(context: TestContext, code: string, env: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-bundled-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const outfile = join(folder, 'program.mjs');
  const stdin = { contents: code, resolveDir: root, sourcefile: 'user.ts', loader: 'ts' } as const;
  await build({ stdin, outfile, bundle: true, minify: true, format: 'esm', platform: 'node', logLevel: 'silent' });
  const { NODE_TEST_CONTEXT, ...outer } = process.env;
  const child = spawnSync(process.execPath, [outfile], { encoding: 'utf8', env: { ...outer, ...env } });
  return { status: child.status, out: child.stdout.trim(), err: child.stderr };
}

const gear = `import { createSwitchgear, refusalOf } from './src/index.ts';`;
const twice = `
  const tool = gear.guard('pay', () => 'ran');
  await gear.task({}, () => { tool(); console.log(refusalOf(tool())?.code ?? 'ran'); });
`;

test('a bundled gear without a policy protects by default', async (context) => {
  const { out } = await run(context, `${gear} const gear = createSwitchgear(); ${twice}`);
  assert.equal(out, 'ran');
});

test('a bundled gear keeps an inline policy', async (context) => {
  const made = `const gear = createSwitchgear({ policy: { task: { max_tool_calls: 1 } }, log: 'silent' });`;
  assert.equal((await run(context, `${gear} ${made} ${twice}`)).out, 'tool_call_limit');
});

test('a bundled gear with a checked policy and its rules keeps them', async (context) => {
  const door = `import { checkPolicy } from './src/policy/index.ts';`;
  const made = (policy: string) => `const gear = createSwitchgear({ policy: checkPolicy(${policy}), log: 'silent' });`;
  const limit = made('{ task: { max_tool_calls: 1 } }');
  assert.equal((await run(context, `${gear} ${door} ${limit} ${twice}`)).out, 'tool_call_limit');
  const rules = made(`{ rules: ['frequency>1/1h|abort|"once"'] }`);
  assert.equal((await run(context, `${gear} ${door} ${rules} ${twice}`)).out, 'rule_abort');
});

test('a bundled gear reads the environment', async (context) => {
  const code = `${gear} console.log(createSwitchgear().settings.task.maxToolCalls);`;
  assert.equal((await run(context, code, { BB_CIRCUIT_BREAKER_TOOL_CAP: '3' })).out, '3');
});
