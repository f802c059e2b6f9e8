/**
 * Code in running text is true, too: commands and their options exist, settings and their values are valid, names are
 * those of the API. Blocks of the language `text` are read for commands in the same way.
 */

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { main } from '../src/cli/main.ts';
import { parsePolicy, policySchema } from '../src/policy/index.ts';
import { listEntryPoints, listFiles, readText, root } from './harness/source.ts';

interface Snippet {
  readonly text: string;
  readonly where: string;
}

/** Pages for users; decisions and changes also tell of names that were. */
const pages = listFiles().filter(
  (path) =>
    path.endsWith('.md') &&
    (path === 'README.md' || path.startsWith('docs/')) &&
    !path.startsWith('docs/decisions/') &&
    !path.startsWith('docs/reference/api/'),
);

const spans: readonly Snippet[] = pages.flatMap((path) => {
  const text = readText(path).replace(/^```[\s\S]*?^```$/gm, (block) => block.replaceAll(/[^\n]/g, ''));
  return [...text.matchAll(/`([^`\n]+(?:\n[^`\n]+)?)`/g)].map((match) => ({
    text: (match[1] ?? '').replaceAll(/\s*\n\s*/g, ' '),
    where: `${path}:${text.slice(0, match.index).split('\n').length}`,
  }));
});

const textLines: readonly Snippet[] = pages.flatMap((path) =>
  [...readText(path).matchAll(/^```text\n([\s\S]*?)^```$/gm)].flatMap(({ 1: text = '' }) =>
    text.split('\n').map((line) => ({ text: line.replace(/^\$ /, '').replace(/\s+#.*$/, ''), where: path })),
  ),
);

const help = new Map<string, string>();

async function readHelp(args: readonly string[]): Promise<string> {
  const lines: string[] = [];
  const add = (line: string) => void lines.push(line);
  await main(args, { out: add, err: add, cwd: root, env: {} });
  return lines.join('\n');
}

before(async () => {
  const overview = await readHelp(['--help']);
  help.set('', overview);
  for (const name of new Set([...overview.matchAll(/^ {2}switchgear ([a-z]+)/gm)].map(([, each = '']) => each)))
    help.set(name, await readHelp(['help', name]));
  assert.ok(help.size > 12, `only ${help.size} commands were found`);
});

/** The part of a command line that Switchgear reads: without the agent's own command, placeholders and a pipe. */
function findProblem(line: string): string | undefined {
  const [, words = ''] = /^(?:npx )?switchgear (.+)$/.exec(line) ?? [];
  const [own = ''] = words.split(/ -- | \| | > | && /);
  const [name = '', second] = own.split(' ');
  if (name.startsWith('-') || name === 'help' || name === '…') return;
  const page = help.get(name);
  if (page === undefined) return `there is no command '${name}'`;
  const hasForms =
    new RegExp(`switchgear ${name} [a-z]+ `).test(page) && ['inbox', 'policy', 'rules', 'chain'].includes(name);
  if (hasForms && second !== undefined && /^[a-z]+$/.test(second) && !page.includes(`switchgear ${name} ${second}`))
    return `'${name}' has no '${second}'`;
  return [...own.matchAll(/(?<= )--[a-z][\w-]*/g)]
    .map(([flag]) => flag)
    .filter((flag) => !`${page}\n${help.get('')}`.includes(flag))
    .map((flag) => `'switchgear help ${name}' does not know ${flag}`)[0];
}

test('commands in running text and in blocks of text exist, with their options', () => {
  const found = [...spans, ...textLines].filter(({ text }) => /^(?:npx )?switchgear [a-z-]/.test(text));
  assert.ok(found.length > 80, `only ${found.length} commands were found`);
  const problems = found.flatMap(({ text, where }) => {
    const problem = findProblem(text);
    return problem === undefined ? [] : [`${where}: ${text}: ${problem}`];
  });
  assert.deepEqual(problems, []);
});

/** Options of the agent CLIs. */
const foreignOptions = new Set([
  '--dangerously-bypass-hook-trust',
  '--verbose',
  '--include-partial-messages',
  '--settings',
  '--setting-sources',
]);

test('options in running text belong to a command', () => {
  const all = [...help.values()].join('\n');
  const unknown = spans
    .filter(({ text }) => /^--[a-z][\w-]*( [A-Z]+)?$/.test(text))
    .map(({ text, where }) => ({ option: text.split(' ')[0]!, where }))
    .filter(({ option }) => !all.includes(option) && !foreignOptions.has(option));
  assert.deepEqual(unknown, []);
});

type Schema = { readonly properties?: Record<string, Schema>; readonly additionalProperties?: Schema | boolean };

const schema = policySchema() as Schema & { readonly $defs?: Record<string, Schema> };
const sections = Object.keys(schema.properties ?? {});

/** Whether a policy with this text is valid. */
function isValid(text: string): boolean {
  try {
    parsePolicy(text, 'text.toml');
    return true;
  } catch {
    return false;
  }
}

/** The ways to read `[section] key = value`, `section.key = value` and `key = value` as a policy. */
function readSetting(text: string): readonly string[] {
  const line = text.replace(/^(\[+[^\]]+\]+) (?=\S)/, '$1\n').replaceAll('…', '0');
  if (/^\[/.test(line)) return [line];
  return [line, ...[...sections, 'tools.x', 'agents.x.task', 'loop.tools'].map((section) => `[${section}]\n${line}`)];
}

test('settings in running text are valid with their values', () => {
  const found = spans.filter(({ text }) => /^(\[+[\w.*"]+\]+ )?["\w.*]+ = \S/.test(text) && !/;|=>|\(/.test(text));
  assert.ok(found.length > 30, `only ${found.length} settings were found`);
  const wrong = found.filter(({ text }) => !readSetting(text).some(isValid));
  assert.deepEqual(
    wrong.map(({ text, where }) => `${where}: ${text}`),
    [],
  );
});

test('setting names in running text exist', () => {
  const names = new Set(
    [...readText('docs/reference/settings.md').matchAll(/^\| `([\w.]+)`/gm)].map(([, each]) => each),
  );
  const found = spans.filter(({ text }) => new RegExp(`^(${sections.join('|')})\\.[a-z_]+$`).test(text));
  assert.ok(found.length > 30, `only ${found.length} names were found`);
  const files = new Set(['mcp.json']);
  const isKnown = (text: string) => names.has(text.split('.').at(-1)) || memberNames.has(text) || files.has(text);
  const wrong = found.filter(({ text }) => !isKnown(text));
  assert.deepEqual(
    wrong.map(({ text, where }) => `${where}: ${text}`),
    [],
  );
});

const api = readdirSync(join(root, 'api'))
  .map((file) => readText(`api/${file}`))
  .join('\n');
const memberNames = new Set(
  [...api.matchAll(/export interface (Switchgear|Task)\b[^{]*\{\n([\s\S]*?)\n\}/g)].flatMap(
    ([, name = '', body = '']) =>
      [...body.matchAll(/^ {4}(?:readonly )?(\w+)[<(?:]/gm)].map(
        ([, member]) => `${name === 'Task' ? 'task' : 'gear'}.${member}`,
      ),
  ),
);

/** Paths that are no entry points: a field of a protocol, a file of the state folder. */
const otherPaths = new Set(['switchgear/attemptKey', 'switchgear/command/bin/switchgear']);

test('members of gear and task in running text, and entry points, exist', () => {
  const wrong: string[] = [];
  const entryPoints = new Set(listEntryPoints().map(({ name }) => name));
  let checked = 0;
  for (const { text, where } of spans) {
    const [member] = /^(?:gear|task)\.\w+/.exec(text) ?? [];
    if (member !== undefined && !new RegExp(`^(${sections.join('|')})\\.[a-z_]+$`).test(text)) {
      checked++;
      if (!memberNames.has(member)) wrong.push(`${where}: ${text}`);
    }
    if (/^switchgear\/[\w/-]+$/.test(text)) {
      checked++;
      if (!entryPoints.has(text) && !otherPaths.has(text)) wrong.push(`${where}: ${text}`);
    }
  }
  assert.ok(checked > 60, `only ${checked} names were found`);
  assert.deepEqual(wrong, []);
});
