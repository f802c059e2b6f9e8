/**
 * Makes a few files of what `switchgear run` runs: the agent waits until they are loaded, and a hundred small ones take
 * longer to find than to run. What is needed only once the agent runs stays in files of its own.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';

/** The folder of the command that was built, unless the first argument names another one. */
const cli = process.argv[2] ?? fileURLToPath(new URL('../dist/cli/', import.meta.url));

/** The other commands stay the files they are. */
const command = /^\.\/(?:commands|chain|hook)\/[\w-]+\.js$/;

/** The file of the watchdog, which another process runs, says where it is. */
const watch = { file: /\/supervisor\/watchdog-process\.js$/, from: 'import.meta.url' };

const fewFiles: Plugin = {
  name: 'few-files',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: command }, ({ path, kind }) =>
      kind === 'dynamic-import' ? { path, external: true } : undefined,
    );
    onLoad({ filter: watch.file }, async ({ path }) => {
      const text = await readFile(path, 'utf8');
      const contents = text.replace(watch.from, "new URL('../supervisor/watchdog-process.js', import.meta.url).href");
      if (contents === text) throw new Error(`${path} does not say any more where it is`);
      return { contents };
    });
  },
};

await build({
  entryPoints: { run: join(cli, 'main.js') },
  outdir: cli,
  chunkNames: 'run-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node22',
  packages: 'external',
  minifyWhitespace: true,
  minifySyntax: true,
  logLevel: 'warning',
  plugins: [fewFiles],
});
