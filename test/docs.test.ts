/**
 * The pages are true: every program in them compiles and runs, every policy is right, every command works. So are the
 * examples in doc comments: they compile.
 * A block of TypeScript that imports from the package begins a program; blocks after it on the page go on with it.
 * `console.log(…); // text` says what is printed, and is held to it.
 */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { readChain } from '../src/chains/index.ts';
import { codes } from '../src/core/controls/registry.ts';
import { parsePolicy } from '../src/policy/index.ts';
import {
  addExamples,
  createProgramFolder,
  examples,
  findPrograms,
  isOfFramework,
  needsFramework,
  pages,
  testPrograms,
} from './harness/doc-programs.ts';
import { listEntryPoints, readPackage, readText, root } from './harness/source.ts';
import { bin } from './harness/switchgear-bin.ts';

const programFolder = createProgramFolder(
  root,
  join(root, 'test', 'harness', 'entry-point-hooks.ts'),
  '../../tsconfig.json',
);
const programs = findPrograms(programFolder, (program) => !isOfFramework(program));
addExamples(programFolder, (example) => !needsFramework(example));

test('every code block is in a language that can be checked', () => {
  const known = new Set(['ts', 'sh', 'toml', 'yaml', 'json', 'text', 'mermaid', '']);
  const strange = pages.flatMap(({ blocks }) => blocks.filter(({ language }) => !known.has(language)));
  assert.deepEqual(strange, []);
  assert.ok(programs.length > 15, `only ${programs.length} programs were found`);
});

testPrograms(programFolder, programs);

test('every entry point has an example in the doc comment of its main function, and every example parses', () => {
  const all = examples.map(({ text }) => stripTypeScriptTypes(text)).join('');
  const missing = listEntryPoints().filter(({ name }) => !all.includes(`from '${name}'`));
  assert.deepEqual(missing, []);
});

test('the reference names every code, every entry type, and every member of gear and task', () => {
  const missing = (path: string, names: Iterable<string>) => {
    const text = readText(path);
    return [...new Set(names)]
      .filter((name) => !new RegExp(`\`${name}[\`(]`).test(text))
      .map((name) => `${path}: ${name}`);
  };
  const union = [...readText('src/core/event.ts').matchAll(/export type (?:Run)?EntryBody =([\s\S]*?)(?:\n\n|$)/g)]
    .map(([, text = '']) => text)
    .join('\n');
  const types = [...union.matchAll(/'([a-z]+(?:-[a-z]+)+|notice)'/g)].map(([, type = '']) => type);
  const members = ['Switchgear', 'Task'].flatMap((name) => {
    const body = new RegExp(`export interface ${name}(?:<[^>]*>)? \\{\n([\\s\\S]*?)\n\\}`).exec(
      readText('src/guard/api.ts'),
    )?.[1];
    return [...(body ?? '').matchAll(/^ {2}(?:readonly )?(\w+)[<(:]/gm)].map(([, member = '']) => member);
  });
  assert.ok(types.length > 30 && members.length > 25, `${types.length} types, ${members.length} members`);
  assert.deepEqual(
    [
      ...missing('docs/reference/codes.md', codes),
      ...missing('docs/reference/entries.md', types),
      ...missing('docs/reference/entry-points.md', members),
    ],
    [],
  );
});

test('every policy and every chain on a page is valid', () => {
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

test('every command on a page exists, and switchgear commands work', (context) => {
  const { scripts } = readPackage();
  let ours = 0;
  for (const { path, blocks } of pages) {
    const folder = mkdtempSync(join(programFolder.folder, 'commands-'));
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
        const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...args.split(/\s+/).map(unquoted)], {
          cwd: folder,
          encoding: 'utf8',
          env: { ...process.env, HOME: folder, XDG_STATE_HOME: '' },
        });
        assert.equal(status, 0, `${path}: ${line}\n${stdout}${stderr}`);
      }
    }
  }
  context.diagnostic(`${programs.length} programs, ${ours} commands`);
  assert.ok(ours > 0);
});
