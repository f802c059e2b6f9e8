/**
 * The public API as text, read from the declarations of every entry point: api/, one file each without comments, to
 * review a change by; and docs/reference/api/, one page each with comments and examples, to read. `npm run api`
 * writes both.
 */

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { codes } from '../src/core/controls/registry.ts';
import { listEntryPoints, root } from '../test/harness/source.ts';

/** The text of the public API. */
export interface PublicApi {
  /** The declarations of each entry point, by the name of its file in api/. */
  readonly declarations: ReadonlyMap<string, string>;
  /** The page of each entry point, by its name in docs/reference/api/. */
  readonly pages: ReadonlyMap<string, string>;
}

/** One declaration of an exported name. */
interface Declaration {
  readonly name: string;
  /** The doc comment in front of it, as it is written; empty without one. */
  readonly comment: string;
  readonly text: string;
}

type Exports = ReadonlyMap<string, readonly Declaration[]>;

export function describeApi(): PublicApi {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-api-'));
  try {
    const args = ['-p', join(root, 'tsconfig.build.json'), '--emitDeclarationOnly', '--outDir', folder];
    const { status, stdout } = spawnSync(join(root, 'node_modules/.bin/tsc'), args, { cwd: root, encoding: 'utf8' });
    if (status !== 0) throw new Error(`the declarations cannot be made:\n${stdout}`);
    const entryPoints = listEntryPoints().map(({ name, path }) => ({
      name,
      exports: readExports(join(folder, path.replace(/^src\//, '').replace(/\.ts$/, '.d.ts'))),
    }));
    const internal = readInternalTypes(folder);
    const fileName = (name: string) => name.replaceAll('/', '-');
    return {
      declarations: new Map(
        entryPoints.map(({ name, exports }) => [`${fileName(name)}.d.ts`, renderDeclarations(exports)]),
      ),
      pages: new Map(
        entryPoints.map(({ name, exports }) => [`${fileName(name)}.md`, renderPage(name, exports, internal)]),
      ),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The exported names of a declaration file, in the order of the alphabet. */
function readExports(file: string): Exports {
  const found = new Map<string, Declaration[]>();
  const add = (declaration: Declaration) => {
    const known = found.get(declaration.name);
    if (known === undefined) found.set(declaration.name, [declaration]);
    else known.push(declaration);
  };
  for (const declaration of readStatements(file)) {
    const list = /^export (?:type )?\{([^}]*)\} from ['"](.*)['"];/s.exec(declaration.text);
    if (list !== null) {
      const others = readStatements(join(dirname(file), list[2]!.replace(/\.(js|ts)$/, '.d.ts')));
      for (const item of list[1]!.split(',').map((part) => part.trim().replace(/^type /, ''))) {
        if (item === '') continue;
        const [original = item, name = original] = item.split(' as ');
        const declared = others.filter((other) => other.name === original);
        if (declared.length === 0) add({ name, comment: '', text: `// ${name}` });
        for (const [at, each] of declared.entries()) {
          const renamed = name === original || at > 0 ? '' : `// ${original} as ${name}\n`;
          add({ ...each, name, text: `${renamed}${each.text}` });
        }
      }
    } else if (declaration.text.startsWith('export ') && declaration.name !== '') add(declaration);
  }
  // The type is derived from the registry of controls; a reader wants to see the codes.
  const [code] = found.get('Code') ?? [];
  if (code !== undefined)
    found.set('Code', [{ ...code, text: `export type Code =${codes.map((each) => `\n    | '${each}'`).join('')};` }]);
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const statementStart = /^(?:export|declare|import|type|interface|class|function|const) /;

/** The statements of a declaration file: each begins at the start of a line, with its doc comment right above. */
function readStatements(file: string): readonly Declaration[] {
  const parts = readFileSync(file, 'utf8')
    .replaceAll('\r\n', '\n')
    .split(/^(?=\/\*\*|(?:export|declare|import|type|interface|class|function|const) )|(?<=^ \*\/\n|^\/\*\*.*\*\/\n)/m);
  const found: Declaration[] = [];
  let comment = '';
  for (const text of parts.map((part) => part.trimEnd())) {
    if (text.startsWith('/**')) {
      comment = text;
      continue;
    }
    const last = found.at(-1);
    if (statementStart.test(text)) {
      const name = /^(?:export )?(?:declare )?(?:function|const|class|interface|type) (\w+)/.exec(text)?.[1] ?? '';
      found.push({ name, comment, text });
    } else if (last !== undefined && text !== '') {
      // A comment inside a union stands at the start of a line, too.
      found[found.length - 1] = { ...last, text: `${last.text}\n${comment}\n${text}` };
    }
    comment = '';
  }
  return found;
}

function renderDeclarations(exports: Exports): string {
  const text = [...exports.values()].map((declared) => declared.map((each) => withoutComments(each.text)).join('\n'));
  return `${text.join('\n\n')}\n`;
}

function withoutComments(text: string): string {
  return text.replace(/^[ \t]*\/\*\*[\s\S]*?\*\/\n/gm, '');
}

/** The types of all files, by name: options of an entry point may extend one that it does not export. */
function readInternalTypes(folder: string): ReadonlyMap<string, Declaration> {
  const found = new Map<string, Declaration>();
  for (const file of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    if (!file.endsWith('.d.ts')) continue;
    for (const declaration of readStatements(join(folder, file))) {
      if (/^export (interface|type) /.test(declaration.text)) found.set(declaration.name, declaration);
    }
  }
  return found;
}

/** The types that the given ones extend and that the entry point does not export, with those that they extend. */
function findBases(exports: Exports, internal: ReadonlyMap<string, Declaration>): readonly Declaration[] {
  const found = new Map<string, Declaration>();
  const add = ({ text }: Declaration) => {
    const [, list = ''] = /^export interface \w+(?:<[^{]*?>)? extends ([^{]*) \{/.exec(text) ?? [];
    for (const name of list.match(/\b[A-Z]\w+/g) ?? []) {
      const base = internal.get(name);
      if (base === undefined || exports.has(name) || found.has(name)) continue;
      found.set(name, base);
      add(base);
    }
  };
  for (const declared of exports.values()) declared.forEach(add);
  for (const { text } of [...exports.values()].flat()) {
    for (const [, name = ''] of text.matchAll(/\?: (\w+Options)\b/g)) {
      const type = internal.get(name);
      if (type !== undefined && !exports.has(name)) found.set(name, type);
    }
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function renderPage(name: string, exports: Exports, internal: ReadonlyMap<string, Declaration>): string {
  const isValue = (declared: readonly Declaration[]) =>
    declared.some(({ text }) => /^(\/\/.*\n)?export declare /.test(text));
  const values = [...exports.values()].filter(isValue);
  const types = [...exports.values()].filter((declared) => !isValue(declared));
  const bases = findBases(exports, internal).map((declaration) => [declaration]);
  const contents = [
    renderContents('Values', values),
    renderContents('Types', types),
    renderContents('Types that these extend or take', bases),
  ];
  return `# API: ${name}

\`npm run api\` writes this page from the types; do not edit it. [All entry points](../entry-points.md).

${contents.join('')}
${[...values, ...types, ...bases].map(renderExport).join('\n')}`;
}

function renderContents(title: string, exports: readonly (readonly Declaration[])[]): string {
  if (exports.length === 0) return '';
  const names = exports.map((declared) => declared[0]!.name);
  return `${title}: ${names.map((name) => `[${name}](#${name.toLowerCase()})`).join(' · ')}\n\n`;
}

function renderExport(declared: readonly Declaration[]): string {
  const { prose, example } = readComment(
    declared.map(({ comment }) => comment).find((comment) => comment !== '') ?? '',
  );
  const signature = declared.map(({ text }) => text.replace(/^export (declare )?/gm, '')).join('\n');
  return [
    `## ${declared[0]!.name}\n`,
    ...(prose === '' ? [] : [`${prose}\n`]),
    `\`\`\`ts\n${signature}\n\`\`\`\n`,
    ...(example === '' ? [] : [`Example:\n\n\`\`\`ts\n${example}\n\`\`\`\n`]),
  ].join('\n');
}

/** The prose and the example of a doc comment. */
function readComment(comment: string): { readonly prose: string; readonly example: string } {
  const lines = comment
    .replace(/^\/\*\*\s?/, '')
    .replace(/\s*\*\/$/, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, ''));
  const [before = '', after = ''] = lines.join('\n').split(/^@example\n/m);
  const plain = (text: string) => text.replaceAll(/\{@link (\w+)\}/g, '`$1`').trim();
  return { prose: plain(before).replaceAll(/^@(\w+)/gm, '*$1:*'), example: after.split(/^@\w/m)[0]!.trim() };
}

if (process.argv.includes('--write')) {
  const { declarations, pages } = describeApi();
  for (const [folder, files] of [
    ['api', declarations],
    ['docs/reference/api', pages],
  ] as const) {
    rmSync(join(root, folder), { recursive: true, force: true });
    mkdirSync(join(root, folder), { recursive: true });
    for (const [file, text] of files) writeFileSync(join(root, folder, file), text);
  }
}
