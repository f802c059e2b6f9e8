/**
 * Makes one file of what `switchgear hook` runs: a hook is started with every call of an agent, and a hundred small
 * files take longer to find than to run. CommonJS, since the loader of modules takes its time, too.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';

/** The folder of the command that was built, unless the first argument names another one. */
const cli = process.argv[2] ?? fileURLToPath(new URL('../dist/cli/', import.meta.url));

/** What every hook needs; elsewhere it is loaded when it is asked for. */
const needed: Readonly<Record<string, string>> = {
  'cli/main.js': './hook/command.js',
  'cli/hook/command.js': './run-hook.js',
  'cli/store-option.js': '../stores/sqlite/index.js',
};

/** What few of them need: of the parsers of policies that of the file at hand. */
const seldom = {
  file: 'policy/file/files.js',
  imports: /^import \{ (.*) \} from '(\.\.\/\.\.\/document\/parse-\w+\.js)';$/gm,
};

/** Tables that are computed from the declarations of the controls: a hook reads them as they were when it was built. */
const tables = ['core/controls/defaults.js', 'core/controls/sections.js', 'core/controls/breaker/defaults.js'];

/** The other commands stay the files they are. */
const command = /^\.\/(?:commands|chain|run)\/[\w-]+\.js$/;

const oneFile: Plugin = {
  name: 'one-file',
  setup({ onLoad, onResolve }) {
    const change = (name: string, by: (text: string) => string) => {
      onLoad({ filter: new RegExp(`/${name.replace('.', '\\.')}$`) }, async ({ path }) => {
        const text = await readFile(path, 'utf8');
        const contents = by(text);
        if (contents === text) throw new Error(`${name} does not import any more what is looked for in it`);
        return { contents };
      });
    };
    onResolve({ filter: command }, ({ path, kind }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    );
    for (const [name, wanted] of Object.entries(needed)) {
      change(name, (text) => {
        const now = text.replace(`import('${wanted}')`, 'Promise.resolve(needed)');
        return now === text ? text : `import * as needed from '${wanted}';\n${now}`;
      });
    }
    for (const name of tables) {
      onLoad({ filter: new RegExp(`/${name.replace('.', '\\.')}$`) }, async ({ path }) => ({
        contents: writeTable(await import(path)),
      }));
    }
    change(seldom.file, (text) =>
      text.replaceAll(seldom.imports, (_, names: string, from: string) => late(names, from)),
    );
  },
};

/** Functions of a file that is loaded when the first of them is called. */
function late(names: string, from: string): string {
  return names
    .split(', ')
    .map((name) => `function ${name}(...args) { return require('${from}').${name}(...args); }`)
    .join('\n');
}

/** The exports of a module as constants. A field that is undefined is left out, which reads the same. */
function writeTable(exports: Readonly<Record<string, unknown>>): string {
  return Object.entries(exports)
    .map(([name, value]) => `export const ${name} = ${JSON.stringify(value, allowPlain)};\n`)
    .join('');
}

function allowPlain(name: string, value: unknown): unknown {
  const isLost =
    ['function', 'bigint', 'symbol'].includes(typeof value) || (typeof value === 'number' && !Number.isFinite(value));
  if (isLost) throw new Error(`${name} cannot be written as a constant`);
  return value;
}

await build({
  entryPoints: [join(cli, 'main.js')],
  outfile: join(cli, 'hook.cjs'),
  bundle: true,
  format: 'cjs',
  platform: 'node',
  target: 'node22',
  packages: 'external',
  minifyWhitespace: true,
  minifySyntax: true,
  banner: { js: "const hereUrl = require('node:url').pathToFileURL(__filename).href;" },
  define: { 'import.meta.url': 'hereUrl' },
  logLevel: 'warning',
  plugins: [oneFile],
});
