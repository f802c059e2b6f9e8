/**
 * Measures how easy the tree is to find one's way in, and prints a table: `npm run measure-tree [-- --list]`.
 * With `--list` every finding behind a number is printed below the table.
 */

import { Session } from 'node:inspector/promises';
import { posix } from 'node:path';
import {
  codeOf,
  listEntryPoints,
  listExports,
  listFiles,
  listImports,
  listValueImports,
  readText,
  root,
} from '../test/harness/source.ts';

interface Finding {
  readonly measure: string;
  readonly goal: string;
  readonly value: number | string;
  readonly found: readonly string[];
}

const functionLinesMax = 100;
const source = listFiles('src').filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts'));
const texts = new Map(source.map((path) => [path, readText(path)]));
const codes = new Map(source.map((path) => [path, codeOf(readText(path), 'nothing')]));

/** The source files that a file imports, types included. */
function importedBy(path: string): string[] {
  const relative = listImports(texts.get(path) ?? '').filter((specifier) => specifier.startsWith('.'));
  return relative.map((specifier) => posix.join(posix.dirname(path), specifier));
}

function filesPerFolder(): Finding {
  const counts = new Map<string, number>();
  for (const path of source) counts.set(posix.dirname(path), (counts.get(posix.dirname(path)) ?? 0) + 1);
  const sorted = [...counts].sort(([, a], [, b]) => b - a);
  const found = sorted.slice(0, 5).map(([folder, count]) => `${folder}: ${count}`);
  return { measure: 'files in the largest folder', goal: '<= 25', value: sorted[0]?.[1] ?? 0, found };
}

function longFunctions(): Finding {
  const found: string[] = [];
  for (const [path, code] of codes) {
    const lineAt = (index: number) => code.slice(0, index).split('\n').length;
    for (const match of code.matchAll(/\bfunction\b[^{;]*\{|=>\s*\{|^\s+(?:async\s+)?[\w#]+\([^;{}]*\)[^;{}=]*\{/gm)) {
      const open = match.index + match[0].length - 1;
      const lines = lineAt(closingBrace(code, open)) - lineAt(match.index) + 1;
      if (lines > functionLinesMax) found.push(`${path}:${lineAt(match.index)}: ${lines} lines`);
    }
  }
  return { measure: `functions over ${functionLinesMax} lines`, goal: '0', value: found.length, found };
}

function closingBrace(code: string, open: number): number {
  let depth = 0;
  for (let at = open; at < code.length; at++) {
    if (code[at] === '{') depth++;
    else if (code[at] === '}' && --depth === 0) return at;
  }
  return code.length;
}

function folderCycles(): Finding {
  const edges = new Map<string, Set<string>>();
  for (const [path, text] of texts) {
    const folder = posix.dirname(path);
    for (const specifier of listValueImports(text).filter((each) => each.startsWith('.'))) {
      const target = posix.dirname(posix.join(folder, specifier));
      if (target !== folder) edges.set(folder, (edges.get(folder) ?? new Set()).add(target));
    }
  }
  const found = [...edges.keys()].filter((folder) => {
    const reached = new Set(edges.get(folder));
    for (const each of reached) for (const next of edges.get(each) ?? []) reached.add(next);
    return reached.has(folder);
  });
  return { measure: 'folders in a cycle of value imports', goal: '0', value: found.length, found };
}

function guardImportedFromOutside(): Finding {
  const found = new Set<string>();
  for (const path of source.filter((each) => !each.startsWith('src/guard/'))) {
    for (const target of importedBy(path)) if (target.startsWith('src/guard/')) found.add(target);
  }
  return {
    measure: 'files of guard/ imported from outside',
    goal: '<= 12',
    value: found.size,
    found: [...found].sort(),
  };
}

function runtimeWrites(): Finding {
  const writes = /\bruntime\.[\w.]+\s*(?:=(?![=>])|\?\?=|\+\+|--|\.(?:set|add|delete|clear|push)\()/;
  const found: string[] = [];
  for (const [path, code] of codes) {
    if (path.startsWith('src/guard/')) continue;
    code.split('\n').forEach((line, index) => {
      if (writes.test(line)) found.push(`${path}:${index + 1}`);
    });
  }
  return { measure: 'writes to the runtime from outside guard/', goal: '0', value: found.length, found };
}

function namesDeclaredTwice(): Finding {
  const places = new Map<string, string[]>();
  const declared = /^export\s+(?:async\s+)?(?:function\*?|const|class|interface|type)\s+(\w+)/gm;
  for (const [path, code] of codes) {
    for (const [, name = ''] of code.matchAll(declared)) {
      places.set(name, [...new Set([...(places.get(name) ?? []), path])]); // Overloads are one declaration.
    }
  }
  const allowed = new Set(['protect', 'command']);
  const found = [...places].filter(([name, paths]) => paths.length > 1 && !allowed.has(name));
  const lines = found.map(([name, paths]) => `${name}: ${paths.join(', ')}`);
  return { measure: 'exported names declared twice', goal: '0', value: found.length, found: lines };
}

function undocumentedNames(): Finding {
  const found: string[] = [];
  for (const { name: door, path } of listEntryPoints()) {
    const { values, types } = listExports(texts.get(path) ?? '');
    for (const name of [...values, ...types]) {
      const declaration = declarationOf(path, name, 0);
      if (declaration !== undefined && !/\*\/\s*(?:\/\/[^\n]*\n\s*)?$/.test(declaration.before)) {
        found.push(`${door} ${name} (${declaration.path})`);
      }
    }
  }
  const unique = [...new Set(found)];
  return { measure: 'public names without a doc comment', goal: '0', value: unique.length, found: unique };
}

/** The text before the declaration of an exported name, followed through re-exports. */
function declarationOf(path: string, name: string, depth: number): { path: string; before: string } | undefined {
  const text = texts.get(path);
  if (text === undefined || depth > 5) return undefined;
  const at = new RegExp(
    `^export\\s+(?:declare\\s+)?(?:async\\s+)?(?:function\\*?|const|class|interface|type)\\s+${name}\\b`,
    'm',
  ).exec(text)?.index;
  if (at !== undefined) return { path, before: text.slice(0, at) };
  for (const [, list = '', specifier = ''] of text.matchAll(/^export\s+(?:type\s+)?\{([^}]*)\}\s*from\s*'([^']+)'/gm)) {
    for (const item of list.split(',').map((each) => each.trim().replace(/^type\s+/, ''))) {
      const [own = '', alias = own] = item.split(/\s+as\s+/);
      if (alias === name) return declarationOf(posix.join(posix.dirname(path), specifier), own, depth + 1);
    }
  }
  return undefined;
}

/** Files of which a named function runs in one guarded asynchronous call inside a task. */
async function filesPerCall(): Promise<Finding> {
  const { createSwitchgear } = await import('../src/index.ts');
  const gear = createSwitchgear({ env: {}, log: 'silent' });
  const tool = gear.guard('search', async (query: string) => query);
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  const found = await gear.task({}, async () => {
    await tool('first'); // Resolves the call site.
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    await tool('second');
    const { result } = await session.post('Profiler.takePreciseCoverage');
    return result
      .filter(({ functions }) => functions.some(({ functionName, ranges }) => functionName && ranges[0]?.count))
      .map(({ url }) => decodeURI(url.replace(/^file:\/\//, '')))
      .filter((path) => path.startsWith(`${root}/src/`))
      .map((path) => path.slice(root.length + 1));
  });
  gear.dispose();
  const paths = found.status === 'done' ? found.value : [];
  return { measure: 'files run per guarded call', goal: '<= 30', value: paths.length, found: paths.sort() };
}

const findings = [
  filesPerFolder(),
  longFunctions(),
  folderCycles(),
  guardImportedFromOutside(),
  runtimeWrites(),
  await filesPerCall(),
  namesDeclaredTwice(),
  undocumentedNames(),
];
const lines = source.map((path) => (texts.get(path) ?? '').split('\n').length - 1);
console.log(`source files ${source.length}, lines ${lines.reduce((sum, each) => sum + each, 0)}\n`);
console.log('| measure | value | goal |\n| --- | --- | --- |');
for (const { measure, value, goal } of findings) console.log(`| ${measure} | ${value} | ${goal} |`);
if (process.argv.includes('--list')) {
  for (const { measure, found } of findings)
    console.log(`\n${measure}\n${found.map((each) => `  ${each}`).join('\n')}`);
}
