/** The public API as text: the declarations of every name of every entry point. `npm run api` writes them to api/. */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { codes } from '../src/core/controls/registry.ts';
import { type EntryPoint, listEntryPoints, root } from './harness/source.ts';

/** The declarations of each entry point, by the name of its file in api/. */
export function describeApi(): ReadonlyMap<string, string> {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-api-'));
  try {
    const args = ['-p', join(root, 'tsconfig.build.json'), '--emitDeclarationOnly', '--outDir', folder];
    const { status, stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), args, { cwd: root, encoding: 'utf8' });
    if (status !== 0) throw new Error(`the declarations cannot be made:\n${stdout}`);
    return new Map(
      listEntryPoints().map(({ name, path }) => {
        const file = join(folder, path.replace(/^src\//, '').replace(/\.ts$/, '.d.ts'));
        const exports = readExports(file);
        // The type is derived from the registry of controls; whoever reads api/ wants to see the codes.
        if (exports.has('Code'))
          exports.set('Code', `export type Code =${codes.map((code) => `\n    | '${code}'`).join('')};`);
        const found = [...exports].sort(([a], [b]) => (a < b ? -1 : 1));
        return [`${name.replaceAll('/', '-')}.d.ts`, `${found.map(([, text]) => text).join('\n\n')}\n`];
      }),
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The exported names of a declaration file with their declarations, without comments. */
function readExports(file: string): Map<string, string> {
  const statements = splitStatements(readFileSync(file, 'utf8'));
  const found = new Map<string, string>();
  const add = (name: string, text: string) => found.set(name, found.has(name) ? `${found.get(name)}\n${text}` : text);
  for (const text of statements) {
    const list = /^export (?:type )?\{([^}]*)\} from ['"](.*)['"];/s.exec(text);
    if (list !== null) {
      const other = readDeclarations(join(dirname(file), list[2]!.replace(/\.(js|ts)$/, '.d.ts')));
      for (const item of list[1]!.split(',').map((part) => part.trim().replace(/^type /, ''))) {
        if (item === '') continue;
        const [original = item, name = original] = item.split(' as ');
        add(name, `${name === original ? '' : `// ${original} as ${name}\n`}${other.get(original) ?? `// ${name}`}`);
      }
    } else if (text.startsWith('export ')) {
      const name = nameOf(text);
      if (name !== undefined) add(name, text);
    }
  }
  return found;
}

function readDeclarations(file: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const text of splitStatements(readFileSync(file, 'utf8'))) {
    const name = nameOf(text);
    if (name !== undefined) found.set(name, found.has(name) ? `${found.get(name)}\n${text}` : text);
  }
  return found;
}

function nameOf(statement: string): string | undefined {
  return /^(?:export )?(?:declare )?(?:function|const|class|interface|type) (\w+)/.exec(statement)?.[1];
}

/** The statements of a declaration file: each begins at the start of a line. */
function splitStatements(text: string): readonly string[] {
  return text
    .replace(/^[ \t]*\/\*\*[\s\S]*?\*\/\r?\n/gm, '')
    .split(/^(?=(?:export|declare|import|type|interface|class|function|const) )/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

/** The names that an entry point has at run time. */
export async function listValues(entryPoint: EntryPoint): Promise<string[]> {
  const path = join(root, entryPoint.path);
  if (!existsSync(path))
    throw new Error(`${entryPoint.name} has no ${entryPoint.path}: write it, or take it out of package.json`);
  return Object.keys((await import(pathToFileURL(path).href)) as object).sort();
}

if (process.argv.includes('--write')) {
  rmSync(join(root, 'api'), { recursive: true, force: true });
  mkdirSync(join(root, 'api'));
  for (const [file, text] of describeApi()) writeFileSync(join(root, 'api', file), text);
}
