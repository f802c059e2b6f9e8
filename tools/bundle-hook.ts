/**
 * Makes one file of what `switchgear hook` runs: a hook is started with every call of an agent, and a hundred small
 * files take longer to find than to run. CommonJS, since the loader of modules takes its time, too.
 */

import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';

/** The folder of the command that was built, unless the first argument names another one. */
const cli = process.argv[2] ?? fileURLToPath(new URL('../dist/cli/', import.meta.url));

/** Tables that are computed from the declarations of the controls: a hook reads them as they were when it was built. */
const tables = ['core/controls/defaults.js', 'core/controls/sections.js', 'core/controls/breaker/defaults.js'];

/** The other commands stay the files they are. */
const command = /^\.\/(?:commands|chain|run|mcp|gateway)\/[\w-]+\.js$/;

/**
 * Files that are imported late become part of the one scope: a file that is imported late inside a bundle, and every
 * file that it imports, is a function of its own, which takes longer to compile than the rest takes to run.
 */
const oneFile: Plugin = {
  name: 'one-file',
  setup({ onLoad }) {
    onLoad({ filter: /\/dist\/.*\.js$|\/cli\/.*\.js$/ }, async ({ path }) => {
      if (tables.some((name) => path.endsWith(`/${name}`))) return { contents: writeTable(await import(path)) };
      const text = await readFile(path, 'utf8');
      const imports: string[] = [];
      const contents = text.replaceAll(/\bimport\('(\.[^']+)'\)/g, (whole, from: string) => {
        if (command.test(from)) return whole;
        imports.push(`import * as late${imports.length} from '${from}';\n`);
        return `Promise.resolve(late${imports.length - 1})`;
      });
      return { contents: `${imports.join('')}${contents}` };
    });
  },
};

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

/** Modules of Node that every process has loaded. */
const atHand = new Set(['node:fs', 'node:path', 'node:url', 'node:process']);

/**
 * Other modules of Node, and packages, are loaded when the first of their exports is used: most hooks need no socket,
 * worker, parser or price.
 */
function requireLate(text: string): string {
  const late = text.replaceAll(
    /(?<=[ ,])(\w+)=(?:__toESM\()?require\("([^"]+)"\)(?:,1\))?(?=[;,])/g,
    (whole, name, id) =>
      atHand.has(id) || id.startsWith('.') ? whole : `${name}=requireLate(()=>${whole.slice(name.length + 1)})`,
  );
  if (late === text) throw new Error('the bundle requires nothing that could be required late');
  return late;
}

/**
 * Makes the bundle an expression, since the command compiles it as a script: the code of a script can be stored after
 * it ran, with all functions that a hook uses. The comment tells the code of one build from that of another.
 */
function wrapBundle(text: string): string {
  const contents = `(function(exports,require,module,__filename){${text}\n})`;
  return `/*${createHash('sha256').update(contents).digest('hex')}*/${contents}`;
}

const banner = [
  "const here={get url(){return require('node:url').pathToFileURL(__filename).href}};",
  // The same time as that of the global, whose getter takes over a millisecond.
  'const hookClock={now:()=>process.uptime()*1e3};',
  'const requireLate=(load)=>{let loaded;return new Proxy({},{get:(_,name)=>(loaded??=load())[name]})};',
].join('');

const { outputFiles } = await build({
  entryPoints: [join(cli, 'main.js')],
  outfile: join(cli, 'hook.cjs'),
  bundle: true,
  write: false,
  format: 'cjs',
  platform: 'node',
  target: 'node22',
  packages: 'external',
  external: ['./commands/*', './chain/*', './run/*', './mcp/*', './gateway/*'],
  minifyWhitespace: true,
  minifySyntax: true,
  banner: { js: banner },
  define: { 'import.meta.url': 'here.url', performance: 'hookClock' },
  logLevel: 'warning',
  plugins: [oneFile],
});
for (const { path, text } of outputFiles) await writeFile(path, wrapBundle(requireLate(text)));
