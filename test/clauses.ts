/**
 * Prints every clause with the tests that prove it, and fails where one of this stage is open.
 * The tests run twice: as they are, and against a stand-in that protects nothing. A proof passes the first run
 * and fails the second, by an assertion.
 */

import { globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from 'node:test';
import { buildCommand } from './built-command.ts';
import { readText, root, toRepositoryPath } from './harness/source.ts';

/** What one run said of a test: it passed, an assertion failed, or something broke that is no assertion. */
type Ending = { readonly kind: 'passed' | 'asserted' } | { readonly kind: 'broke'; readonly why: string };
type Endings = Map<string, Ending>;

/** Clauses that are advice: there is nothing in them that a stand-in could fail to do. */
const advice = new Set(['P37', 'P50', 'D43']);

/** A file that hangs is ended after this time. */
const fileMaxMs = 120_000;

const stage = new Set([
  ...ids('P', [1, 50]),
  ...ids('C', [1, 39]),
  ...ids('N', [1, 47]),
  ...ids('D', [1, 47]),
  ...ids('B', [1, 46]),
]);

function ids(family: string, ...ranges: readonly (readonly [number, number])[]): string[] {
  return ranges.flatMap(([from, to]) =>
    Array.from({ length: to - from + 1 }, (_, index) => `${family}${from + index}`),
  );
}

const clauses = new Map<string, string>();
for (const [, id = '', text = ''] of readText('test/clauses.md').matchAll(/^- ([PCNDB]\d+) (.*)$/gm))
  clauses.set(id, text);

const files = globSync('test/clauses/*.test.ts', { cwd: root }).map((path) => join(root, path));
const faults: string[] = [];
const folder = mkdtempSync(join(tmpdir(), 'switchgear-clauses-'));
process.env.NODE_COMPILE_CACHE ??= join(folder, 'compiled');
process.env.BUILT_COMMAND = buildCommand(join(folder, 'command'));
const first = await runClauseTests([], 'as it is');
const second = await runClauseTests(['--import', './test/harness/null-hooks.ts'], 'against the stand-in');
rmSync(folder, { recursive: true, force: true });

const proofs = new Map<string, string[]>();
for (const title of first.keys()) {
  const id = readClauseId(title);
  if (id === undefined) continue;
  const others = [...title.matchAll(/\b[PCNDB]\d+\b/g)]
    .map(([other]) => other)
    .filter((other) => other !== id && clauses.has(other));
  if (!clauses.has(id)) faults.push(`'${title}' names ${id}, which test/clauses.md does not have`);
  if (others.length > 0) faults.push(`'${title}' names ${others.join(', ')} too: one clause per title`);
  proofs.set(id, [...(proofs.get(id) ?? []), title]);
}

let proven = 0;
const open: string[] = [];
for (const [id, text] of clauses) {
  const titles = proofs.get(id) ?? [];
  const doubts = titles.flatMap((title) => listDoubts(id, title));
  const isProven = titles.length > 0 && doubts.length === 0;
  if (isProven) proven++;
  else if (stage.has(id)) open.push(id);
  const status = isProven ? 'proven' : stage.has(id) ? 'OPEN  ' : 'later ';
  console.log(`${id.padEnd(4)}${status}  ${text}`);
  for (const title of titles) console.log(`          ${title}`);
  for (const each of doubts) console.log(`        ! ${each}`);
}
console.log(`\nclauses ${clauses.size}, proven ${proven}, of this stage ${stage.size}, open ${open.length}`);
if (open.length > 0) console.log(`open: ${open.join(' ')}`);
for (const fault of faults) console.log(`fault: ${fault}`);
if (open.length > 0 || faults.length > 0) process.exitCode = 1;

function readClauseId(title: string): string | undefined {
  return /^([PCNDB]\d+):/.exec(title)?.[1];
}

/** Why a test does not prove its clause; nothing if it does. */
function listDoubts(id: string, title: string): string[] {
  const one = first.get(title);
  const two = second.get(title);
  if (one?.kind !== 'passed') return [`fails${one?.kind === 'broke' ? `: ${one.why}` : ''}`];
  if (advice.has(id)) return [];
  if (two === undefined) return ['was not reached against the stand-in; see the faults below'];
  if (two.kind === 'passed') return ['passes against the stand-in as well: assert what only the real gear does'];
  if (two.kind === 'broke') return [`breaks against the stand-in where an assertion should fail: ${two.why}`];
  return [];
}

/** Runs the clause tests and says how each ended, by title. */
async function runClauseTests(execArgv: string[], subject: string): Promise<Endings> {
  const found: Endings = new Map();
  const stderr = new Map<string, string>();
  const loaded = new Set<string>();
  process.env.SWITCHGEAR_SUBJECT = execArgv.length > 0 ? 'null' : 'real';
  for await (const { type, data } of run({ files, cwd: root, concurrency: 2, timeout: fileMaxMs, execArgv })) {
    if (type === 'test:stderr') stderr.set(data.file ?? '', (stderr.get(data.file ?? '') ?? '') + data.message);
    if ((type !== 'test:pass' && type !== 'test:fail') || data.details.type === 'suite') continue;
    if (files.includes(data.name)) {
      if (type === 'test:pass' || loaded.has(data.name)) continue;
      const why = /^\S*Error.*$/m.exec(stderr.get(data.name) ?? '')?.[0] ?? data.details.error.message;
      faults.push(`${toRepositoryPath(data.name)} does not load ${subject}: ${why}`);
      continue;
    }
    if (data.file !== undefined) loaded.add(data.file);
    if (found.has(data.name) && readClauseId(data.name) !== undefined)
      faults.push(`two tests are called '${data.name}'`);
    found.set(data.name, type === 'test:pass' ? { kind: 'passed' } : classifyEnding(data.details.error));
  }
  return found;
}

function classifyEnding(error: Error): Ending {
  const cause = error.cause as { code?: unknown; name?: unknown; message?: unknown } | undefined;
  if (cause?.code === 'ERR_ASSERTION') return { kind: 'asserted' };
  const said =
    cause !== undefined && typeof cause === 'object'
      ? `${cause.name ?? 'Error'}: ${cause.message}`
      : String(cause ?? error.message);
  return { kind: 'broke', why: said.split('\n')[0] ?? '' };
}
