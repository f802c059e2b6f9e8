/**
 * Makes one file of what `switchgear hook` runs: a hook is started with every call of an agent, and a hundred small
 * files take longer to find than to run. CommonJS, since the loader of modules takes its time, too.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';

const cli = fileURLToPath(new URL('../dist/cli/', import.meta.url));

/** What every hook needs; elsewhere it is loaded when it is asked for. */
const needed: Readonly<Record<string, string>> = {
  'main.js': './hook-command.js',
  'hook-command.js': './hook-run.js',
  'open-store.js': '../stores/sqlite.js',
};

/** The other commands stay the files they are. */
const command = /^\.\/[\w-]+-commands?\.js$/;

const oneFile: Plugin = {
  name: 'one-file',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: command }, ({ path, kind }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    );
    for (const [name, wanted] of Object.entries(needed)) {
      onLoad({ filter: new RegExp(`/cli/${name.replace('.', '\\.')}$`) }, async ({ path }) => {
        const text = await readFile(path, 'utf8');
        const asked = `import('${wanted}')`;
        if (!text.includes(asked))
          throw new Error(`${name} has no ${asked} any more: mend the list of ${import.meta.url}`);
        return { contents: `import * as needed from '${wanted}';\n${text.replace(asked, 'Promise.resolve(needed)')}` };
      });
    }
  },
};

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
