/** The house rules that a machine can see. Every message says the remedy. */

import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { test } from 'node:test';
import {
  codeOf,
  listEntryPoints,
  listExports,
  listFiles,
  listImports,
  listValueImports,
  readPackage,
  readText,
  root,
} from './harness/source.ts';

const linesMax = 400;
const folderFilesMax = 25;
const columnsMax = 120;

/** The allowed imports of each folder of `src`: a folder, or a single file of it. An absent folder is forbidden. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  core: [],
  ports: ['core'],
  platform: ['core', 'ports'],
  document: ['core'],
  http: ['core', 'ports'],
  policy: ['core', 'ports', 'platform', 'document'],
  coordination: ['core', 'ports'],
  stores: ['core', 'ports', 'platform', 'coordination'],
  guard: ['core', 'ports', 'platform', 'policy', 'stores/memory'],
  standalone: ['core', 'ports', 'platform'],
  approvers: ['core', 'ports'],
  prices: ['core', 'ports'],
  compat: ['core', 'ports', 'guard', 'policy'],
  adapters: ['core', 'ports', 'platform', 'guard', 'prices'],
  agents: ['core', 'ports', 'platform', 'guard'],
  supervisor: ['core', 'ports', 'platform', 'guard'],
  hooks: ['core', 'ports', 'platform', 'guard', 'agents', 'supervisor'],
  chains: ['core', 'ports', 'platform', 'document', 'policy', 'guard', 'stores/memory', 'approvers', 'supervisor'],
  operator: ['core', 'ports', 'coordination', 'stores', 'supervisor', 'chains/run', 'approvers', 'guard/internal'],
  server: ['core', 'ports', 'http', 'operator'],
  mcp: ['core', 'ports', 'platform', 'http', 'guard', 'supervisor'],
  gateway: ['core', 'ports', 'guard', 'http', 'agents/reading/shell-failure'],
  cli: [
    'core',
    'ports',
    'platform',
    'document',
    'http',
    'policy',
    'coordination',
    'stores',
    'guard',
    'approvers',
    'prices',
    'agents',
    'supervisor',
    'hooks',
    'chains',
    'operator',
    'server',
    'mcp',
    'gateway',
    'demo',
  ],
  testing: ['core', 'ports', 'guard'],
  demo: ['core', 'platform', 'testing', 'index'],
  // Entry points are files of their own.
  index: ['core', 'ports', 'platform', 'policy', 'guard', 'stores/memory'],
  breaker: ['core', 'standalone'],
};

/** Dependencies, each with the folders that may use it. */
const packages: Readonly<Record<string, string | readonly string[]>> = {
  '@langchain/core/messages': 'adapters',
  '@langchain/core/utils/stream': 'adapters',
  '@modelcontextprotocol/client': 'chains',
  '@pydantic/genai-prices': 'prices',
  redis: 'stores',
  'smol-toml': 'document',
  yaml: 'document',
};

/** What lies in the root of the repository. */
const inTheRoot = new Set([
  ...['.ci', 'api', 'bench', 'bin', 'dashboard', 'docs', 'examples', 'monitoring', 'src', 'test', 'tools'],
  ...['README.md', 'ARCHITECTURE.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE', '.gitignore'],
  ...['package.json', 'package-lock.json', 'biome.json', 'tsconfig.json', 'tsconfig.build.json'],
  ...['chain.schema.json', 'policy.schema.json'],
]);

/** The kinds of files in a folder; the first folder that fits counts. */
const fileKinds: Readonly<Record<string, readonly string[]>> = {
  'src/': ['.ts'],
  'dashboard/': ['.css', '.html', '.json', '.ts', '.tsx'],
  'test/fixtures/': ['.gz', '.json', '.jsonl', '.md', '.ts', '.txt', '.yaml'],
  'test/': ['.json', '.md', '.ts'],
};

/** Parts of the policy that read files or write pages: only its own door and the command reach them. */
const outOfReachOfTheRoot = /^src\/(?:document\/|policy\/(?:index\.ts|file\/|pages\/))/;

/** Transcripts of agents at work: paths in made-up home folders, and marks that agents look for, are their content. */
const transcripts = /^test\/(?:daily\/(?:healthy|bad)\/|clients\/daily-stories\.ts$)/;

const everything = listFiles();
const typescript = everything.filter((path) => path.endsWith('.ts'));
const source = typescript.filter((path) => path.startsWith('src/') && !path.endsWith('.test.ts'));
const pages = everything.filter((path) => path.endsWith('.md'));

/** Collects what a rule finds and fails with all of it at once. */
function rule(title: string, find: (found: string[]) => void): void {
  test(title, () => {
    const found: string[] = [];
    find(found);
    assert.equal(found.length, 0, `\n  ${found.join('\n  ')}\n`);
  });
}

/** Every line of the code that a pattern hits, as `path:line`; comments and text do not count. */
function hits(path: string, pattern: RegExp): string[] {
  const lines = codeOf(readText(path), 'nothing').split('\n');
  return lines.flatMap((line, index) => (pattern.test(line) ? [`${path}:${index + 1}`] : []));
}

const folderOf = (path: string): string => path.split('/')[1]?.replace(/\.ts$/, '') ?? '';
const targetOf = (path: string, specifier: string): string => posix.join(posix.dirname(path), specifier);

rule('src and test hold files of known kinds alone', (found) => {
  for (const path of everything) {
    const kinds = Object.entries(fileKinds).find(([folder]) => path.startsWith(folder))?.[1];
    if (kinds !== undefined && !kinds.includes(posix.extname(path)))
      found.push(`${path}: delete this file, or add its kind to fileKinds in test/tidy.test.ts`);
  }
});

rule('imports point inward, as the table says', (found) => {
  for (const path of source) {
    const folder = folderOf(path);
    const allowed = mayImport[folder];
    if (allowed === undefined)
      found.push(`${path}: folder '${folder}' is not in the table of test/tidy.test.ts; add it`);
    for (const specifier of listImports(readText(path)).filter((each) => each.startsWith('.'))) {
      const target = targetOf(path, specifier);
      const inside = target.replace(/^src\//, '').replace(/\.ts$/, '');
      if (!target.startsWith('src/')) found.push(`${path} imports ${specifier}: source imports nothing outside src/`);
      else if (!specifier.endsWith('.ts')) found.push(`${path} imports ${specifier}: write the path with .ts`);
      else if (specifier.endsWith('.test.ts')) found.push(`${path} imports a test: move what it needs`);
      else if (
        folderOf(target) !== folder &&
        !allowed?.some((each) => inside === each || inside.startsWith(`${each}/`))
      ) {
        found.push(
          `${path} imports ${inside}: ${folder} may import ${allowed?.join(', ') || 'nothing outside itself'}`,
        );
      }
    }
  }
});

rule('other folders reach the engine through its doors', (found) => {
  const door = /^src\/guard\/(?:(?:api|internal|create-switchgear)|entries\/[\w-]+)\.ts$/;
  const written = /\bruntime\.[\w.]+\s*(?:=(?![=>])|\?\?=|\+\+|--)|\bruntime\.\w+\.(?:set|add|delete|clear|push)\(/;
  for (const path of source.filter((each) => !/^src\/(?:guard\/|index\.ts$)/.test(each))) {
    for (const specifier of listImports(readText(path)).filter((each) => each.startsWith('.'))) {
      const target = targetOf(path, specifier);
      if (target.startsWith('src/guard/') && !door.test(target))
        found.push(`${path} imports ${target}: import it from guard/internal.ts, and export it there if two need it`);
    }
    for (const where of hits(path, written))
      found.push(`${where}: only guard/ writes to the runtime; call a function of it`);
  }
});

rule('a dependency has its few users named, and the core, ports and guard have none', (found) => {
  for (const path of source) {
    for (const specifier of listImports(readText(path)).filter((each) => !each.startsWith('.'))) {
      const folder = folderOf(path);
      if (specifier.startsWith('node:')) {
        if (folder === 'core' || folder === 'ports')
          found.push(`${path} imports ${specifier}: hand it in through a port`);
      } else if (![packages[specifier] ?? []].flat().includes(folder)) {
        found.push(`${path} imports ${specifier}: use what Node has, or name its user in test/tidy.test.ts`);
      }
    }
  }
  for (const name of Object.keys(readPackage().dependencies ?? {})) {
    if (packages[name] === undefined) found.push(`package.json depends on ${name}, which no folder may use: remove it`);
  }
});

rule('the root and the breaker reach no parser, page or dependency', (found) => {
  for (const door of ['src/index.ts', 'src/breaker.ts']) {
    for (const path of reachable([door])) {
      if (outOfReachOfTheRoot.test(path)) found.push(`${door} reaches ${path}: import check, resolve, … by themselves`);
      for (const name of listImports(readText(path)).filter((each) => packages[each] !== undefined)) {
        found.push(`${door} reaches ${name} through ${path}: leave it to its own door`);
      }
    }
  }
});

rule('the core is pure: no clock, timer, promise, random number, process or global', (found) => {
  const globals =
    'Date|performance|process|Promise|setTimeout|setInterval|setImmediate|queueMicrotask|globalThis|crypto|fetch';
  const impure = new RegExp(`\\b(await|async|${globals})\\b(?!\\s*:)|Math\\.random`);
  for (const path of source.filter((each) => each.startsWith('src/core/'))) {
    for (const where of hits(path, impure))
      found.push(`${where}: the core gets time and chance in the event; move this to guard/`);
  }
});

rule('time is asked for in two places: the clock of the process and that of the machine', (found) => {
  const clocks = /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|\bprocess\.hrtime\b|\bset(Timeout|Interval)\(/;
  const asked = /^src\/platform\/(system|machine)-clock\.ts$|^src\/cli\//;
  for (const path of source.filter((each) => !asked.test(each))) {
    for (const where of hits(path, clocks)) found.push(`${where}: take a Clock (src/ports/clock.ts) instead`);
  }
});

rule('nobody prints but the command and the demo', (found) => {
  for (const path of source.filter((each) => !/^src\/(cli|demo)\//.test(each))) {
    for (const where of hits(path, /\bconsole\./)) found.push(`${where}: write an entry, or use the gear's log`);
  }
});

rule('exports are named one by one', (found) => {
  for (const path of source) {
    for (const where of hits(path, /^\s*export\s*\*/)) found.push(`${where}: name what is exported`);
    for (const where of hits(path, /^\s*export\s+default\b/)) found.push(`${where}: give the export a name`);
    if (
      path.endsWith('/index.ts') ||
      path === 'src/guard/internal.ts' ||
      listEntryPoints().some((door) => door.path === path)
    )
      continue;
    if (/^\s*export\s+(type\s+)?\{[^}]*\}\s*from\b/m.test(codeOf(readText(path), 'nothing'))) {
      found.push(`${path}: only doors re-export; import it where it is declared`);
    }
  }
});

rule('no enums, namespaces, decorators or inheritance', (found) => {
  for (const path of source) {
    for (const where of hits(path, /^\s*(export\s+)?(declare\s+)?(const\s+)?enum\s/))
      found.push(`${where}: use a union of strings`);
    for (const where of hits(path, /^\s*(export\s+)?(declare\s+)?namespace\s/))
      found.push(`${where}: a file is a namespace`);
    for (const where of hits(path, /^\s*@\w+/)) found.push(`${where}: call a function instead of decorating`);
    for (const [, name = '', base] of codeOf(readText(path), 'nothing').matchAll(
      /\bclass\s+(\w+)(?:<[^{]*>)?(?:\s+extends\s+([\w.]+))?/g,
    )) {
      if (base !== undefined && base !== 'Error') found.push(`${path}: ${name} extends ${base}: compose instead`);
    }
  }
});

rule('no `any`: unknown at the edges, narrowed once', (found) => {
  for (const path of source) {
    const lines = readText(path).split('\n');
    for (const where of hits(path, /(?<![.\w])any\b(?!\s*\()/)) {
      const line = Number(where.split(':')[1]);
      if (!lines[line - 2]?.includes('biome-ignore lint/suspicious/noExplicitAny: '))
        found.push(`${where}: use unknown`);
    }
  }
});

rule('nothing lies in the root that does not belong there', (found) => {
  const names = [...readText('.gitignore').matchAll(/^([^*\n]+?)\/?$/gm)].map(([, name]) => name);
  const ignored = new Set(['.git', ...names]);
  for (const entry of readdirSync(root)) {
    if (!inTheRoot.has(entry) && !ignored.has(entry) && !entry.endsWith('.log'))
      found.push(`${entry}: a test or a command left it here; mend that, or name it in test/tidy.test.ts`);
  }
});

rule('files are named after what they hold, in kebab-case', (found) => {
  const vague = /^(utils?|helpers?|common|types?|base|manager|service|handler|impl|misc)$/;
  for (const path of typescript) {
    const name = posix.basename(path).replace(/(\.test|\.bench)?\.ts$/, '');
    if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)) found.push(`${path}: write the name in kebab-case`);
    if (name === 'shared' || name.split('-').some((word) => vague.test(word)))
      found.push(`${path}: name the file after its main export`);
  }
});

/** Words of an earlier dialect. The glossary in CONTRIBUTING.md has their successors. */
const retired = new Set(
  'works lane lanes deal deals dealt purse wallet desk bench veil veiled limbo seat seats obey talk face pulse'.split(
    ' ',
  ),
);

rule('retired words are neither identifiers nor file names', (found) => {
  const wordsOf = (name: string) => name.split(/(?<=[a-z0-9])(?=[A-Z])|[-_]/).map((word) => word.toLowerCase());
  const isRetired = (name: string) => wordsOf(name).some((word) => retired.has(word));
  for (const path of source) {
    if (isRetired(posix.basename(path, '.ts')))
      found.push(`${path}: rename the file by the glossary of CONTRIBUTING.md`);
    const names = new Set(codeOf(readText(path), 'nothing').match(/\b[A-Za-z_]\w*\b/g));
    for (const name of names)
      if (isRetired(name)) found.push(`${path}: rename ${name} by the glossary of CONTRIBUTING.md`);
  }
});

rule('parameters are nouns, and an exported name is declared once', (found) => {
  const participle = /[(,{]\s*(?:readonly\s+)?(?:\.\.\.)?(said|told|given|held|asked|known|seen|kept)\??\s*[:,)=][^=]?/;
  const places = new Map<string, string>();
  for (const path of source) {
    const code = codeOf(readText(path), 'nothing');
    for (const [, list = ''] of code.matchAll(/\bfunction\s*\w*(?:<[^(]*>)?(\([^)]*\))/g)) {
      // In a pattern `{ name: parameter }` the parameter is the second.
      const parameters = list.replace(/\{[^}]*\}/g, (pattern) => pattern.replace(/\w+\s*:\s*/g, ''));
      const name = participle.exec(parameters)?.[1];
      if (name !== undefined) found.push(`${path}: name the parameter ${name} after what it is`);
    }
    for (const [, name = ''] of code.matchAll(
      /^export\s+(?:async\s+)?(?:function\*?|const|class|interface|type)\s+(\w+)/gm,
    )) {
      const other = places.get(name);
      if (other !== undefined && other !== path && name !== 'protect' && name !== 'command')
        found.push(`${path} and ${other} both declare ${name}: give each a name of its own`);
      places.set(name, path);
    }
  }
});

rule('every source file tells its idea in its first comment', (found) => {
  for (const path of source) {
    if (!/^(#!.*\n)?\/\*\*\s*(\n \* )?\S/.test(readText(path)))
      found.push(`${path}: begin with /** one sentence: what this file is */`);
  }
});

rule('files, lines and folders are short enough to read', (found) => {
  const filesIn = new Map<string, number>();
  for (const path of typescript) {
    const lines = readText(path).split('\n');
    const isTest = path.startsWith('test/');
    if (!isTest && lines.length > linesMax)
      found.push(`${path} has ${lines.length} lines: split it, at most ${linesMax}`);
    lines.forEach((line, index) => {
      if ([...line].length > columnsMax && !/https?:\/\//.test(line))
        found.push(`${path}:${index + 1}: over ${columnsMax} columns`);
    });
    const folder = posix.dirname(path);
    filesIn.set(folder, (filesIn.get(folder) ?? 0) + 1);
  }
  for (const [folder, count] of filesIn) {
    if (folder.startsWith('src') && count > folderFilesMax)
      found.push(`${folder} has ${count} files: split it, at most ${folderFilesMax}`);
  }
});

rule('folders import values of each other in one direction', (found) => {
  const edges = new Map<string, Map<string, string>>();
  for (const path of source) {
    for (const specifier of listValueImports(readText(path)).filter((each) => each.startsWith('.'))) {
      const [from, to] = [posix.dirname(path), posix.dirname(targetOf(path, specifier))];
      if (from === to) continue;
      const out = edges.get(from) ?? new Map<string, string>();
      edges.set(from, out.set(to, `${path} imports ${specifier}`));
    }
  }
  for (const [from, out] of edges) {
    for (const [to, why] of out) {
      if (leadsTo(edges, to, from))
        found.push(`${why}: ${to} leads back to ${from}; move one of them, or import a type`);
    }
  }
});

rule('nothing is half done', (found) => {
  const marks = /\b(TOD[O]|FIXM[E]|XX[X])\b/;
  for (const path of everything.filter(
    (each) => /\.(ts|cjs|md|json)$/.test(each) && !each.endsWith('package-lock.json'),
  )) {
    readText(path)
      .split('\n')
      .forEach((line, index) => {
        if (marks.test(line) && !transcripts.test(path)) found.push(`${path}:${index + 1}: do it now or leave it out`);
        if (path.endsWith('.ts') && /^\s*\/\/ .*[;{]$/.test(line))
          found.push(`${path}:${index + 1}: delete code that is commented out`);
      });
  }
  for (const path of typescript) {
    for (const where of hits(path, /\b(test|it|describe)\.(only|skip|todo)\b|\bdebugger\b/))
      found.push(`${where}: leave no test out`);
  }
});

rule('every source file is reached from a door, and every exported value has a user', (found) => {
  const reached = reachable([...listEntryPoints().map((door) => door.path), ...commandFiles()]);
  const users = new Map<string, Set<string>>();
  for (const path of everything.filter((each) => /\.(ts|cjs)$/.test(each))) {
    for (const [word] of codeOf(readText(path), 'nothing').matchAll(/\w+/g))
      users.set(word, (users.get(word) ?? new Set()).add(path));
  }
  for (const path of source) {
    if (!reached.has(path)) found.push(`${path}: no door or command reaches it; delete it or use it`);
    if (listEntryPoints().some((door) => door.path === path)) continue;
    for (const name of listExports(readText(path)).values) {
      const isUsed = [...(users.get(name) ?? [])].some((other) => other !== path);
      if (!isUsed) found.push(`${path}: nobody else uses ${name}; take its export away, or it`);
    }
  }
});

rule('doors, commands and scripts name files that exist', (found) => {
  const { scripts, bin } = readPackage();
  for (const { name, path } of listEntryPoints())
    if (!existsSync(join(root, path))) found.push(`${name} has no ${path}`);
  for (const path of Object.values(bin)) if (!existsSync(join(root, path))) found.push(`the command has no ${path}`);
  for (const [name, line] of Object.entries(scripts)) {
    for (const [path] of line.matchAll(/\b(?:test|bench|examples|bin)\/[\w/-]+\.(?:ts|cjs)\b/g)) {
      if (!existsSync(join(root, path)))
        found.push(`npm run ${name} runs ${path}, which is not there: write it or drop the script`);
    }
  }
});

rule('pages have one title, and their links lead somewhere', (found) => {
  for (const path of pages) {
    const text = readText(path).replace(/^(```|~~~)[\s\S]*?^\1/gm, '');
    const titles = text.match(/^# .+$/gm)?.length ?? 0;
    if (titles !== 1) found.push(`${path} has ${titles} titles: write one line that begins with '# '`);
    for (const [, target = ''] of text.matchAll(/(?<!`)\[[^\]]*\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue;
      const [file = '', anchor] = target.split('#');
      const linked = file === '' ? path : posix.join(posix.dirname(path), file);
      if (!existsSync(join(root, linked))) found.push(`${path} links to ${target}, which is not there`);
      else if (anchor !== undefined && linked.endsWith('.md') && !anchorsOf(linked).has(anchor)) {
        found.push(`${path} links to ${target}: ${linked} has no such heading`);
      }
    }
  }
});

rule('a decision has a number of its own and its four parts', (found) => {
  const numbers = new Set<string>();
  for (const path of pages.filter((each) => each.startsWith('docs/decisions/'))) {
    const number = /\/(\d{4})-[a-z0-9-]+\.md$/.exec(path)?.[1];
    if (number === undefined) found.push(`${path}: call it NNNN-title.md`);
    else if (numbers.has(number)) found.push(`${path}: take the next free number`);
    else numbers.add(number);
    for (const part of ['Context', 'Decision', 'Consequences', 'What would change our mind']) {
      if (!readText(path).includes(`\n## ${part}\n`)) found.push(`${path}: add the part '## ${part}'`);
    }
  }
});

rule('no file carries the address of a registry or a path of somebody’s machine', (found) => {
  const machine = /(?<![\w.])[/](home|Users|root)[/]\w/;
  const workshop = /[/]work[/](main|shared)\b/;
  const address = /https?:[/][/][^\s/]*(registry|npmjs|artifactory)/;
  for (const path of everything.filter((each) =>
    /\.(ts|cjs|mjs|js|md|json|toml|yaml|yml|sh|txt)$|^\.ci\/|rc$/.test(each),
  )) {
    const text = readText(path);
    if (address.test(text)) found.push(`${path}: names a registry; npm knows where to fetch from`);
    if (workshop.test(text) || (machine.test(text) && !path.endsWith('.test.ts') && !transcripts.test(path)))
      found.push(`${path}: holds an absolute path; make it relative`);
  }
  for (const path of everything.filter((each) => each.endsWith('package-lock.json'))) {
    if (readText(path).includes('"resolved"')) found.push(`${path}: take out the "resolved" lines`);
  }
});

/** Whether a path of value imports leads from one folder to another. */
function leadsTo(edges: ReadonlyMap<string, ReadonlyMap<string, string>>, from: string, to: string): boolean {
  const reached = new Set<string>([from]);
  for (const folder of reached) for (const next of edges.get(folder)?.keys() ?? []) reached.add(next);
  return reached.has(to);
}

/** The source files behind some others, by following imports. */
function reachable(from: readonly string[]): Set<string> {
  const reached = new Set<string>();
  const waiting = from.filter((path) => existsSync(join(root, path)));
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (reached.has(path)) continue;
    reached.add(path);
    for (const specifier of listImports(readText(path)).filter((each) => each.startsWith('.'))) {
      const target = targetOf(path, specifier);
      if (existsSync(join(root, target))) waiting.push(target);
    }
  }
  return reached;
}

/** The source files that the command starts with. */
function commandFiles(): string[] {
  return Object.values(readPackage().bin)
    .filter((path) => existsSync(join(root, path)))
    .flatMap((path) =>
      [...readText(path).matchAll(/['"`](\.\.\/src\/[\w/-]+\.ts)['"`]/g)].map(([, target = '']) =>
        posix.join(dirname(path), target),
      ),
    );
}

/** The anchors of a page, as they are made from its headings. */
function anchorsOf(path: string): Set<string> {
  const headings = readText(path).match(/^#+ .+$/gm) ?? [];
  const made = headings.map((line) =>
    line
      .replace(/^#+ /, '')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replace(/\s/g, '-'),
  );
  return new Set(made);
}
