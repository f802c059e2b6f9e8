/** A policy in a bundled program, as a module and as CommonJS: inline, from a file, or by the environment. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { build } from 'esbuild';
import { root } from './harness/source.ts';

const formats = { esm: 'program.mjs', cjs: 'program.cjs' } as const;

/** The parser of YAML is CommonJS: bundled into a module by esbuild it needs a `require`, as docs/reference says. */
const banner = `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`;

/** Bundles a program and runs it in a folder of its own, with `files` beside it. */
async function run(
  context: TestContext,
  format: keyof typeof formats,
  code: string,
  { env = {}, files = {} }: { env?: Record<string, string>; files?: Record<string, string> } = {},
) {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-bundled-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  const outfile = join(folder, formats[format]);
  const stdin = { contents: code, resolveDir: root, sourcefile: 'user.ts', loader: 'ts' } as const;
  const options = { stdin, outfile, bundle: true, minify: true, format, platform: 'node', logLevel: 'silent' } as const;
  const isModuleWithParsers = format === 'esm' && code.includes('loadPolicy(');
  await build({ ...options, ...(isModuleWithParsers && { banner: { js: banner } }) });
  const { NODE_TEST_CONTEXT, ...outer } = process.env;
  const spawnOptions = { cwd: folder, encoding: 'utf8', env: { ...outer, ...env } } as const;
  const child = spawnSync(process.execPath, [outfile], spawnOptions);
  return { out: child.stdout.trim(), err: child.stderr };
}

const gear = `import { createSwitchgear, refusalOf } from './src/index.ts';`;
const checker = `import { checkPolicy } from './src/policy/index.ts';`;
const policy = `import { loadPolicy } from './src/policy/index.ts';`;
const callTwice = `
  const tool = gear.guard('pay', () => 'ran');
  gear.task(() => { tool(); console.log(refusalOf(tool())?.code ?? 'ran'); });
`;
const gearWith = (document: string) => `const gear = createSwitchgear({ policy: ${document}, log: 'silent' });`;
const limit = '{ task: { max_tool_calls: 1 } }';

for (const format of ['esm', 'cjs'] as const) {
  test(`bundled as ${format}, a gear without a policy protects by default`, async (context) => {
    const { out, err } = await run(context, format, `${gear} const gear = createSwitchgear(); ${callTwice}`);
    assert.equal(out, 'ran', err);
  });

  test(`bundled as ${format}, a gear keeps an inline policy`, async (context) => {
    const { out, err } = await run(context, format, `${gear} ${gearWith(limit)} ${callTwice}`);
    assert.equal(out, 'tool_call_limit', err);
  });

  test(`bundled as ${format}, a gear keeps a checked policy and its rules`, async (context) => {
    const checked = gearWith(`checkPolicy({ rules: ['frequency>1/1h|abort|"once"'] })`);
    const { out, err } = await run(context, format, `${gear} ${checker} ${checked} ${callTwice}`);
    assert.equal(out, 'rule_abort', err);
  });

  for (const [name, text] of Object.entries({
    'switchgear.toml': '[task]\nmax_tool_calls = 1\n',
    'switchgear.yaml': 'task:\n  max_tool_calls: 1\n',
  })) {
    test(`bundled as ${format}, a gear keeps the policy of ${name}`, async (context) => {
      const code = `${gear} ${policy} ${gearWith(`loadPolicy('${name}')`)} ${callTwice}`;
      const { out, err } = await run(context, format, code, { files: { [name]: text } });
      assert.equal(out, 'tool_call_limit', err);
    });
  }

  test(`bundled as ${format}, a gear reads the environment`, async (context) => {
    const code = `${gear} console.log(createSwitchgear().settings.task.maxToolCalls);`;
    const { out, err } = await run(context, format, code, { env: { BB_CIRCUIT_BREAKER_TOOL_CAP: '3' } });
    assert.equal(out, '3', err);
  });
}
