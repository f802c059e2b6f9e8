/**
 * A policy in a bundled program, as a module and as CommonJS: inline, from a file, or by the environment. esbuild
 * bundles the sources; webpack and Rollup bundle the built package as it is installed, through its `exports`.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { build } from 'esbuild';
import { listEntryPoints, readPackage, root } from './harness/source.ts';

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
  return runNode(folder, outfile, env);
}

function runNode(folder: string, file: string, env: Record<string, string> = {}) {
  const { NODE_TEST_CONTEXT, ...outer } = process.env;
  const child = spawnSync(process.execPath, [file], { cwd: folder, encoding: 'utf8', env: { ...outer, ...env } });
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
  test(`bundled as ${format}, a gear without a policy uses the default protections`, async (context) => {
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

/** Programs of a user beside an installed package: the peer dependencies are not installed. */
const programs = {
  inline: `import { createSwitchgear, refusalOf } from 'switchgear'; ${gearWith(limit)} ${callTwice}`,
  file: `import { createSwitchgear, refusalOf } from 'switchgear';
    import { loadPolicy } from 'switchgear/policy'; ${gearWith(`loadPolicy('switchgear.yaml')`)} ${callTwice}`,
  everything: listEntryPoints()
    .map(({ name }, index) => `import * as entry${index} from '${name}'; globalThis.entry${index} = entry${index};`)
    .concat(`import { mcpAbilities } from 'switchgear/chains';
      const source = mcpAbilities({ mcpServers: { files: { command: 'true' } } });
      source.find('files.read').catch((error) => console.log(error.code));`)
    .join('\n'),
};
const expected = { inline: 'tool_call_limit', file: 'tool_call_limit', everything: 'missing_package' };
const names = { webpack: ['inline', 'file', 'everything'], rollup: ['inline', 'file'] } as const;

/** The parts of the bundlers that this test uses. */
type Webpack = (
  config: object,
  done: (error: Error | null, stats?: { compilation: { errors: Error[] } }) => void,
) => void;
type Rollup = { rollup(options: object): Promise<{ write(options: object): Promise<unknown> }> };
type RollupPlugin = { default(options?: object): object };

const require = createRequire(import.meta.url);

const bundlers = {
  /** As a server of Next.js is bundled: for Node, with every package inside. */
  async webpack(folder: string, format: keyof typeof formats, output: string) {
    const isModule = format === 'esm';
    const config = {
      context: folder,
      mode: 'production',
      target: 'node22',
      entry: Object.fromEntries(names.webpack.map((name) => [name, `./${name}.mjs`])),
      optimization: { minimize: false },
      experiments: { outputModule: isModule },
      output: {
        path: output,
        filename: isModule ? '[name].mjs' : '[name].cjs',
        chunkFilename: isModule ? '[name].mjs' : '[name].cjs',
        library: { type: isModule ? 'module' : 'commonjs2' },
      },
    };
    const { promise, resolve, reject } = Promise.withResolvers<readonly Error[]>();
    const webpack = require('webpack') as Webpack;
    webpack(config, (error, stats) => (stats === undefined ? reject(error) : resolve(stats.compilation.errors)));
    assert.deepEqual(await promise, []);
  },
  async rollup(folder: string, format: keyof typeof formats, output: string) {
    const { rollup } = require('rollup') as Rollup;
    const resolve = require('@rollup/plugin-node-resolve') as RollupPlugin;
    const commonjs = require('@rollup/plugin-commonjs') as RollupPlugin;
    const bundle = await rollup({
      input: Object.fromEntries(names.rollup.map((name) => [name, join(folder, `${name}.mjs`)])),
      plugins: [resolve.default({ exportConditions: ['node'] }), commonjs.default()],
      onwarn() {}, // Peer dependencies that are not installed stay external.
    });
    const fileNames = format === 'esm' ? '[name].mjs' : '[name].cjs';
    await bundle.write({ dir: output, format, entryFileNames: fileNames, chunkFileNames: fileNames });
  },
};

/** A folder with the programs and, in node_modules, the built package and its dependencies. */
const installed = mkdtempSync(join(tmpdir(), 'switchgear-installed-'));
after(() => rmSync(installed, { recursive: true, force: true }));

test('the package builds', () => {
  const modules = join(installed, 'node_modules');
  const home = join(modules, 'switchgear');
  // The types are checked where the declarations are written, in test/api.test.ts.
  const args = ['-p', 'tsconfig.build.json', '--noCheck', '--declaration', 'false', '--outDir', join(home, 'dist')];
  const { status, stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), args, { cwd: root, encoding: 'utf8' });
  assert.equal(status, 0, stdout);
  cpSync(join(root, 'package.json'), join(home, 'package.json'));
  for (const name of Object.keys(readPackage().dependencies ?? {})) {
    mkdirSync(dirname(join(modules, name)), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
  for (const [name, text] of Object.entries(programs)) writeFileSync(join(installed, `${name}.mjs`), text);
  writeFileSync(join(installed, 'switchgear.yaml'), 'task:\n  max_tool_calls: 1\n');
});

for (const bundler of ['webpack', 'rollup'] as const) {
  for (const format of ['esm', 'cjs'] as const) {
    test(`bundled by ${bundler} as ${format}, a gear keeps its policy`, async () => {
      const output = join(installed, `${bundler}-${format}`);
      await bundlers[bundler](installed, format, output);
      for (const name of names[bundler]) {
        const { out, err } = runNode(installed, join(output, formats[format].replace('program', name)));
        assert.equal(out, expected[name], `${name}: ${err}`);
      }
    });
  }
}
