/** Reads the repository's own files as text: which there are, what they import, what they export. */

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

const skipped = new Set(['node_modules', 'dist', 'api', '.git', '.tmp', 'coverage']);

/** Every file of the repository, as paths from its root with forward slashes. */
export function listFiles(folder = ''): string[] {
  const found: string[] = [];
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = posix.join(folder, entry.name);
    if (entry.isDirectory() && !skipped.has(entry.name)) found.push(...listFiles(path));
    else if (entry.isFile()) found.push(path);
  }
  return found.sort();
}

export function readText(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** A path of this machine as one of the repository. */
export function toRepositoryPath(path: string): string {
  return relative(root, path).split(sep).join('/');
}

/** Source with its comments blanked; with `text` gone too, strings, templates and patterns are blanked as well. */
export function codeOf(source: string, keep: 'text' | 'nothing'): string {
  let code = '';
  let at = 0;
  /** What templates are open: the depth of braces at which each goes on. */
  const templates: number[] = [];
  let braces = 0;
  const take = (to: number, blank: boolean): void => {
    const piece = source.slice(at, to);
    code += blank ? piece.replace(/[^\n]/g, ' ') : piece;
    at = to;
  };
  const end = (pattern: RegExp): number => {
    pattern.lastIndex = at;
    const match = pattern.exec(source);
    return match === null ? source.length : match.index + match[0].length;
  };
  const text = (pattern: RegExp): void => {
    at++;
    const to = end(pattern);
    at--;
    take(to, keep === 'nothing');
    if (source.endsWith('${', at) && pattern === template) templates.push(braces++);
  };
  while (at < source.length) {
    const two = source.slice(at, at + 2);
    const one = two.charAt(0);
    if (two === '//') take(end(/(?=\n|$)/g), true);
    else if (two === '/*') take(end(/\*\//g), true);
    else if (one === "'") text(/(?:\\.|[^\\'\n])*'/gy);
    else if (one === '"') text(/(?:\\.|[^\\"\n])*"/gy);
    else if (one === '`') text(template);
    else if (one === '/' && /(?:^|[(,=:[!&|?{};\n]|=>|\breturn)\s*$/.test(code.slice(-40))) {
      text(/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^\\/\n])*\/[a-z]*/gy);
    } else if (one === '}' && templates.at(-1) === braces - 1) {
      braces = templates.pop() ?? 0;
      text(template);
    } else {
      if (one === '{') braces++;
      if (one === '}') braces--;
      take(at + 1, false);
    }
  }
  return code;
}

/** The rest of a template, up to its end or its next expression. */
const template = /(?:\\[\s\S]|\$(?!\{)|[^\\`$])*(?:`|\$\{)/gy;

/** The specifiers a file imports or re-exports from, dynamic ones included. */
export function listImports(source: string): string[] {
  const code = codeOf(source, 'text');
  const imported = /^\s*import\s+(?:[\w*{][^'"`;]*?\bfrom\s*)?['"]([^'"\n]+)['"]/gm;
  const exported = /^\s*export\s+(?:type\s+)?(?:\*[^'"`;{]*?|\{[^}]*\})\s*from\s*['"]([^'"\n]+)['"]/gm;
  const called = /\bimport\s*\(\s*['"]([^'"\n]+)['"]/g;
  return [imported, exported, called].flatMap((form) =>
    [...code.matchAll(form)].map(([, specifier = '']) => specifier),
  );
}

/** The specifiers a file imports values from when it is loaded: neither types alone nor dynamic imports. */
export function listValueImports(source: string): string[] {
  const form = /^\s*(?:import|export)\s+(?!type\b)(?:([\w*{][^'"`;]*?)\bfrom\s*)?['"]([^'"\n]+)['"]/gm;
  const isTypeOnly = (names: string) => /^\{\s*(?:type\s[^,}]*,?\s*)+\}\s*$/.test(names);
  return [...codeOf(source, 'text').matchAll(form)].flatMap(([, names = '', specifier = '']) =>
    isTypeOnly(names) ? [] : [specifier],
  );
}

export interface Exports {
  readonly values: readonly string[];
  readonly types: readonly string[];
}

/** The names a file exports: what is declared with `export`, and what stands in `export { … }`. */
export function listExports(source: string): Exports {
  const code = codeOf(source, 'nothing');
  const values = new Set<string>();
  const types = new Set<string>();
  const declared =
    /^\s*export\s+(?:declare\s+)?(?:abstract\s+|async\s+)?(const|let|function\*?|class|type|interface)\s+(\w+)/gm;
  for (const [, kind, name = ''] of code.matchAll(declared))
    (/^(type|interface)$/.test(kind ?? '') ? types : values).add(name);
  for (const [, all, list = ''] of code.matchAll(/^\s*export\s+(type\s+)?\{([^}]*)\}/gm)) {
    for (const item of list.split(',').map((each) => each.trim())) {
      const [, single, , name] = /^(type\s+)?(\w+\s+as\s+)?(\w+)$/.exec(item) ?? [];
      if (name !== undefined) (all !== undefined || single !== undefined ? types : values).add(name);
    }
  }
  return { values: [...values].sort(), types: [...types].sort() };
}

export interface EntryPoint {
  /** What a user imports, e.g. `switchgear/policy`. */
  readonly name: string;
  /** The source behind it. */
  readonly path: string;
}

interface Package {
  readonly name: string;
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
  readonly bin: Readonly<Record<string, string>>;
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies?: Readonly<Record<string, string>>;
}

export function readPackage(): Package {
  return JSON.parse(readText('package.json')) as Package;
}

/** The doors of the package: every entry of `exports` that is code. */
export function listEntryPoints(): EntryPoint[] {
  const { name, exports } = readPackage();
  return Object.entries(exports).flatMap(([key, target]) => {
    const file = typeof target === 'string' ? target : target.default;
    if (!file.endsWith('.js')) return [];
    return [{ name: posix.join(name, key), path: file.replace(/^\.\/dist\//, 'src/').replace(/\.js$/, '.ts') }];
  });
}
