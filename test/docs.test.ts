/**
 * The pages are true: every program in them compiles and runs, every policy is right, every command works.
 * A block of TypeScript that imports from the package begins a program; blocks after it on the page go on with it.
 * `console.log(…); // text` says what is printed, and is held to it.
 */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { readChain } from '../src/chains/index.ts';
import { codes } from '../src/core/verdict.ts';
import { parsePolicy } from '../src/policy/index.ts';
import { filesUnder, read, readPackage, root } from './source.ts';

interface Block {
  readonly language: string;
  readonly text: string;
  readonly where: string;
}

interface Page {
  readonly path: string;
  readonly blocks: readonly Block[];
}

interface Program {
  readonly where: string;
  readonly text: string;
  readonly folder: string;
}

const pages: readonly Page[] = filesUnder()
  .filter((path) => path.endsWith('.md') && path !== 'test/clauses.md')
  .map((path) => ({ path, blocks: blocksOf(path) }));

mkdirSync(join(root, '.tmp'), { recursive: true });
const workshop = mkdtempSync(join(root, '.tmp', 'docs-'));
after(() => rmSync(workshop, { recursive: true, force: true }));
const programs = pages.flatMap((page) => programsOf(page));

function blocksOf(path: string): readonly Block[] {
  const text = read(path);
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map((match) => ({
    language: match[1] ?? '',
    text: match[2] ?? '',
    where: `${path}:${text.slice(0, match.index).split('\n').length}`,
  }));
}

/** Each program in a folder of its own, with the policy file that the page showed before it. */
function programsOf({ blocks }: Page): readonly Program[] {
  const found: { where: string; text: string; policy: string | undefined }[] = [];
  let policy: string | undefined;
  for (const { language, text, where } of blocks) {
    if (language === 'toml') policy = text;
    if (language !== 'ts') continue;
    const last = found.at(-1);
    if (/^import .* from 'switchgear/m.test(text)) found.push({ where, text, policy });
    else if (last === undefined) assert.fail(`${where}: a program begins by importing from the package`);
    else last.text += text;
  }
  return found.map(({ where, text, policy: written }) => {
    const folder = join(workshop, where.replace(/\W+/g, '-'));
    mkdirSync(folder);
    writeFileSync(join(folder, 'program.ts'), text);
    if (written !== undefined) writeFileSync(join(folder, 'switchgear.toml'), written);
    return { where, text, folder };
  });
}

test('blocks are in languages that can be checked', () => {
  const known = new Set(['ts', 'sh', 'toml', 'yaml', 'json', 'text', '']);
  const strange = pages.flatMap(({ blocks }) => blocks.filter(({ language }) => !known.has(language)));
  assert.deepEqual(strange, []);
  assert.ok(programs.length > 15, `only ${programs.length} programs were found`);
});

test('every program on a page compiles', () => {
  writeFileSync(
    join(workshop, 'tsconfig.json'),
    JSON.stringify({
      extends: '../../tsconfig.json',
      compilerOptions: { noUnusedLocals: false, noUnusedParameters: false },
      include: ['*/program.ts'],
    }),
  );
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const { status, stdout, stderr } = spawnSync(process.execPath, [tsc, '-p', workshop], { encoding: 'utf8' });
  assert.equal(status, 0, stdout + stderr);
});

for (const program of programs) {
  test(`the program at ${program.where} runs and prints what its comments say`, { timeout: 60_000 }, async () => {
    const { code, out, err } = await run(program);
    assert.equal(code, 0, out + err);
    let at = 0;
    const lines = out.split('\n');
    for (const [, said = ''] of program.text.matchAll(/console\.log\(.*\); \/\/ (.+)$/gm)) {
      const found = lines.indexOf(said.trim(), at);
      assert.notEqual(found, -1, `it should print ${JSON.stringify(said)}, it printed\n${out}`);
      at = found + 1;
    }
  });
}

function run({ folder }: Program): Promise<{ code: number | null; out: string; err: string }> {
  const hooks = pathToFileURL(join(root, 'test', 'door-hooks.ts')).href;
  const child = spawn(process.execPath, ['--import', hooks, 'program.ts'], { cwd: folder });
  let out = '';
  let err = '';
  child.stdout.on('data', (data) => {
    out += data;
  });
  child.stderr.on('data', (data) => {
    err += data;
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out, err })));
}

test('the reference names every code, every type of entry, every member of gear and task', () => {
  const missing = (path: string, names: Iterable<string>) => {
    const text = read(path);
    return [...new Set(names)]
      .filter((name) => !new RegExp(`\`${name}[\`(]`).test(text))
      .map((name) => `${path}: ${name}`);
  };
  const union = ['event', 'run-entry']
    .map((file) => /export type (?:Run)?EntryBody =([\s\S]*?)(?:\n\n|$)/.exec(read(`src/core/${file}.ts`))?.[1] ?? '')
    .join('\n');
  const types = [...union.matchAll(/'([a-z]+(?:-[a-z]+)+|notice)'/g)].map(([, type = '']) => type);
  const members = ['Switchgear', 'Task'].flatMap((name) => {
    const body = new RegExp(`export interface ${name} \\{\n([\\s\\S]*?)\n\\}`).exec(
      read('src/guard/front-door.ts'),
    )?.[1];
    return [...(body ?? '').matchAll(/^ {2}(?:readonly )?(\w+)[<(:]/gm)].map(([, member = '']) => member);
  });
  assert.ok(types.length > 30 && members.length > 25, `${types.length} types, ${members.length} members`);
  assert.deepEqual(
    [
      ...missing('docs/reference/codes.md', codes),
      ...missing('docs/reference/entries.md', types),
      ...missing('docs/reference/front-door.md', members),
    ],
    [],
  );
});

test('every policy and every chain on a page is right', () => {
  for (const { language, text, where } of pages.flatMap(({ blocks }) => blocks)) {
    if (isChain(text)) assert.deepEqual(readChain(text, `${where}.${language}`).problems, []);
    else if (language === 'toml' || language === 'yaml' || language === 'json')
      parsePolicy(text, `${where}.${language}`);
  }
});

function unquoted(word: string): string {
  return word.replace(/^'(.*)'$/, '$1');
}

function isChain(text: string): boolean {
  return /^steps:$/m.test(text);
}

test('every command on a page exists, and those of ours work', (context) => {
  const { scripts } = readPackage();
  let ours = 0;
  for (const { path, blocks } of pages) {
    const folder = mkdtempSync(join(workshop, 'commands-'));
    for (const { language, text, where } of blocks) {
      if (language === 'toml') writeFileSync(join(folder, 'switchgear.toml'), text);
      if (language === 'yaml' && isChain(text)) writeFileSync(join(folder, 'chain.yaml'), text);
      if (language !== 'sh') continue;
      for (const line of text.split('\n').map((each) => each.replace(/\s+#.*$/, '').trim())) {
        for (const [, name = ''] of line.matchAll(/\bnpm run ([\w-]+)/g))
          assert.ok(scripts[name], `${where}: package.json has no script ${name}`);
        const [, args] = /^(?:npx )?switchgear (.+)$/.exec(line) ?? [];
        if (args === undefined) continue;
        ours++;
        const { status, stdout, stderr } = spawnSync(
          process.execPath,
          [join(root, 'bin', 'switchgear.cjs'), ...args.split(/\s+/).map(unquoted)],
          { cwd: folder, encoding: 'utf8' },
        );
        assert.equal(status, 0, `${path}: ${line}\n${stdout}${stderr}`);
      }
    }
  }
  context.diagnostic(`${programs.length} programs, ${ours} commands`);
  assert.ok(ours > 0);
});
