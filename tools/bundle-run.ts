/**
 * Makes a few files of what `switchgear run` and `switchgear mcp` run: an agent waits until they are loaded, and a
 * hundred small ones take longer to find than to run. What is needed only later stays in files of its own.
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

/** Parsers and prices, which a run needs for a policy in their format, or for the first usage of a model. */
const latePackages = /^(?:yaml|smol-toml|@pydantic\/genai-prices)$/;

/** Packages that are loaded when one of their exports is used first: the agent need not wait for them. */
const loadLate: Plugin = {
  name: 'load-late',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: latePackages }, ({ path, kind }) =>
      kind === 'import-statement' ? { path, namespace: 'late', sideEffects: false } : undefined,
    );
    onLoad({ filter: latePackages, namespace: 'late' }, async ({ path }) => {
      const names = Object.keys((await import(path)) as object).filter((name) => /^(?!default$)\w+$/.test(name));
      const contents = [
        "import { createRequire } from 'node:module';",
        'let loaded;',
        `const load = () => (loaded ??= createRequire(import.meta.url)('${path}'));`,
        'const late = (name) => new Proxy(function () {}, {',
        '  apply: (_, self, args) => Reflect.apply(load()[name], self, args),',
        '  construct: (_, args) => Reflect.construct(load()[name], args),',
        '  get: (_, key) => load()[name][key],',
        '});',
        ...names.map((name) => `export const ${name} = /* @__PURE__ */ late('${name}');`),
      ];
      return { contents: contents.join('\n'), resolveDir: cli };
    });
  },
};

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
  plugins: [loadLate, fewFiles],
});
