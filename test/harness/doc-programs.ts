/**
 * The programs on the pages of the docs: found, compiled, run, and held to what their comments say they print; and the
 * examples in doc comments: found and compiled with them.
 */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { collectOutput } from './child-output.ts';
import { listFiles, readText, root } from './source.ts';

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

/** Where programs run: their folder, the hooks loaded before them, and the compiler's settings. */
export interface ProgramFolder {
  readonly folder: string;
  readonly hooks: string;
  readonly tsconfig: string;
}

export const pages: readonly Page[] = listFiles()
  .filter((path) => path.endsWith('.md') && path !== 'test/clauses.md' && !path.startsWith('docs/reference/api/'))
  .map((path) => ({ path, blocks: readBlocks(path) }));

/** A folder that is gone after the tests. */
export function createProgramFolder(home: string, hooks: string, tsconfig: string): ProgramFolder {
  mkdirSync(join(home, '.tmp'), { recursive: true });
  const folder = mkdtempSync(join(home, '.tmp', 'docs-'));
  after(() => rmSync(folder, { recursive: true, force: true }));
  return { folder, hooks: pathToFileURL(hooks).href, tsconfig };
}

/** Whether a program needs frameworks, which are installed beside the tests of adapters alone. */
export function isOfFramework({ text }: Pick<Program, 'text'>): boolean {
  return /from 'switchgear\/adapters\//.test(text);
}

function readBlocks(path: string): readonly Block[] {
  const text = readText(path);
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map((match) => ({
    language: match[1] ?? '',
    text: match[2] ?? '',
    where: `${path}:${text.slice(0, match.index).split('\n').length}`,
  }));
}

/** The programs of all pages that are wanted, each in a folder of its own with the policy file shown before it. */
export function findPrograms(
  programFolder: ProgramFolder,
  isWanted: (program: Pick<Program, 'text'>) => boolean,
): readonly Program[] {
  return pages.flatMap((page) =>
    splitPrograms(page)
      .filter(isWanted)
      .map(({ where, text, policy }) => {
        const folder = join(programFolder.folder, where.replace(/\W+/g, '-'));
        mkdirSync(folder);
        writeFileSync(join(folder, 'program.ts'), text);
        if (policy !== undefined) writeFileSync(join(folder, 'switchgear.toml'), policy);
        return { where, text, folder };
      }),
  );
}

const gearDeclared = `import { allow, createSwitchgear, isRefused } from 'switchgear';
const gear = createSwitchgear();
`;

/** The examples in the doc comments of the sources, each a program. An example of a method finds `gear` declared. */
export const examples: readonly Pick<Program, 'where' | 'text'>[] = listFiles()
  .filter((path) => path.startsWith('src/') && path.endsWith('.ts'))
  .flatMap(readExamples);

function readExamples(path: string): readonly Pick<Program, 'where' | 'text'>[] {
  const source = readText(path);
  return [...source.matchAll(/^ *\* @example\n((?: *\*(?: (?!@).*)?\n)*)/gm)].map(({ index, 1: lines = '' }) => {
    const text = lines.replaceAll(/^ *\* ?/gm, '');
    const isOfMethod = /\bgear\./.test(text) && !/\bconst gear\b/.test(text);
    return {
      where: `${path}:${source.slice(0, index).split('\n').length}`,
      text: `${isOfMethod ? gearDeclared : ''}${text}`,
    };
  });
}

/** Whether an example imports a package other than ours. */
export function needsFramework({ text }: Pick<Program, 'text'>): boolean {
  return /^import .* from '(?!switchgear|node:)/m.test(text);
}

/** Writes examples beside the programs of a folder, to be compiled with them. */
export function addExamples(programFolder: ProgramFolder, isWanted: (example: Pick<Program, 'text'>) => boolean): void {
  for (const { where, text } of examples.filter(isWanted)) {
    const folder = join(programFolder.folder, where.replace(/\W+/g, '-'));
    mkdirSync(folder);
    writeFileSync(join(folder, 'program.ts'), text);
  }
}

/** A block that imports from the package begins a program; those after it go on with it. */
function splitPrograms({ blocks }: Page) {
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
  return found;
}

/** Registers the tests that compile and run programs. */
export function testPrograms(programFolder: ProgramFolder, programs: readonly Program[]): void {
  test('every program on a page and every example in a doc comment compiles', () => {
    writeFileSync(
      join(programFolder.folder, 'tsconfig.json'),
      JSON.stringify({
        extends: programFolder.tsconfig,
        compilerOptions: { noUnusedLocals: false, noUnusedParameters: false },
        include: ['*/program.ts'],
      }),
    );
    const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const { status, stdout, stderr } = spawnSync(process.execPath, [tsc, '-p', programFolder.folder], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stdout + stderr);
  });

  for (const program of programs) {
    test(`the program at ${program.where} runs and prints what its comments say`, { timeout: 60_000 }, async () => {
      const { code, out, err } = await run(programFolder, program);
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
}

function run(
  { hooks }: ProgramFolder,
  { folder }: Program,
): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, ['--import', hooks, 'program.ts'], { cwd: folder });
  const { out, err } = collectOutput(child);
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, out: out(), err: err() })));
}
