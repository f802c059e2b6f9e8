/** `switchgear run` as a user calls it: a real process in a folder of its own, with agents of our own on its PATH. */

import assert from 'node:assert/strict';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { Card } from '../../../src/core/card.ts';
import { collectOutput } from '../../harness/child-output.ts';
import { compiled } from '../../harness/compiled.ts';
import { bin as ourBin } from '../../harness/switchgear-bin.ts';

/** Early versions of Node 24 warn of TypeScript: the output of an agent would look like words of the command. */
export const agentNode = `"${process.execPath}" --disable-warning=ExperimentalWarning`;
const agent = fileURLToPath(new URL('./fake-agent.ts', import.meta.url));

export interface FinishedProcess {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

export interface TestHome {
  readonly folder: string;
  readonly store: string;
  /** Starts it; the store is the folder's own. */
  start(args: readonly string[], env?: Readonly<Record<string, string>>): StartedProcess;
  run(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<FinishedProcess>;
  /** Runs it at a terminal of its own, as a person in a second window does; `keys` is typed. */
  runAtTerminal(args: readonly string[], keys?: string): Promise<FinishedProcess>;
  /** The command lines that agents were started with. */
  startedCommands(): readonly (readonly string[])[];
  clear(): void;
}

export interface StartedProcess {
  readonly child: ChildProcessWithoutNullStreams;
  readonly finished: Promise<FinishedProcess>;
  /** What it printed so far. */
  out(): string;
  err(): string;
}

export function createTestHome(bin = ourBin): TestHome {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-run-'));
  for (const name of ['claude', 'codex', 'gemini', 'opencode']) {
    const path = join(folder, name);
    writeFileSync(path, `#!/bin/sh\nexec ${agentNode} "${agent}" ${name} "$@"\n`);
    chmodSync(path, 0o755);
  }
  const store = `sqlite:${join(folder, 'state.db')}`;
  const log = join(folder, 'started.log');
  const { PATH = '' } = process.env;
  const start: TestHome['start'] = (args, more = {}) => spawnIn(process.execPath, [bin, ...args], more);
  const spawnIn = (program: string, args: readonly string[], more: Readonly<Record<string, string>>) => {
    const env = {
      ...compiled,
      HOME: folder,
      PATH: [folder, dirname(process.execPath), PATH].join(delimiter),
      SWITCHGEAR_STORE: store,
      FAKE_LOG: log,
      ...more,
    };
    const child = spawn(program, args, { cwd: folder, env, stdio: 'pipe' });
    const { out, err } = collectOutput(child);
    const finished = new Promise<FinishedProcess>((resolve) => {
      child.on('close', (code, signal) => resolve({ code, signal, out: out(), err: err() }));
    });
    return { child, finished, out, err };
  };
  return {
    folder,
    store,
    start,
    run: (args, env) => {
      const { child, finished } = start(args, env);
      child.stdin.end();
      return finished;
    },
    runAtTerminal(args, keys = '') {
      const line = [process.execPath, bin, ...args].map((word) => `'${word}'`).join(' ');
      const { child, finished } = spawnIn('script', ['-qec', line, '/dev/null'], {});
      child.stdin.end(keys);
      return finished;
    },
    startedCommands() {
      const text = readFileSync(log, 'utf8').trim();
      return text.split('\n').map((line) => JSON.parse(line) as string[]);
    },
    clear: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Creates homes that are removed after the tests of a file. */
export function createTestHomes(): () => TestHome {
  const homes: TestHome[] = [];
  after(() => {
    for (const home of homes) home.clear();
  });
  return () => {
    const made = createTestHome();
    homes.push(made);
    return made;
  };
}

/** The one open card of a home. */
export async function openCard({ run }: TestHome): Promise<Card> {
  const cards = JSON.parse((await run(['inbox', 'list', '--json'])).out) as Card[];
  assert.equal(cards.length, 1);
  return cards[0]!;
}
