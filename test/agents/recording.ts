/** Recorded streams of real agents, and how they are played to a gear on a clock that only the recording moves. */

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import {
  type AgentEvent,
  accountEvents,
  boundedLines,
  claudeCodeReader,
  codexReader,
  type EventAccounting,
  geminiReader,
  opencodeReader,
  type Reader,
} from '../../src/agents/index.ts';
import { createSwitchgear, type Entry, type PolicyDocument, type Switchgear, type Task } from '../../src/index.ts';
import { priceBook } from '../../src/prices/index.ts';
import { type SimulatedClock, simulatedClock } from '../../src/testing/index.ts';
import { root } from '../harness/source.ts';

const folder = join(root, 'test/fixtures/agents');

export const clis = ['claude-code', 'codex', 'gemini', 'opencode'] as const;
export type Cli = (typeof clis)[number];

export const readers: Readonly<Record<Cli, () => Reader>> = {
  'claude-code': claudeCodeReader,
  codex: () => codexReader({ model: 'gpt-5.5' }),
  gemini: geminiReader,
  opencode: opencodeReader,
};

export interface Recording {
  readonly cli: Cli;
  readonly name: string;
  readonly exitCode: number;
  readonly endMs: number;
  readonly lines: readonly { readonly atMs: number; readonly line: string }[];
}

export function recording(cli: Cli, name: string): Recording {
  const [head = '{}', ...rest] = unpacked(join(cli, `${name}.txt.gz`))
    .trimEnd()
    .split('\n');
  const { exitCode, endMs } = JSON.parse(head) as { exitCode: number; endMs: number };
  const lines = rest.map((text) => {
    const tab = text.indexOf('\t');
    return { atMs: Number(text.slice(0, tab)), line: text.slice(tab + 1) };
  });
  return { cli, name, exitCode, endMs, lines };
}

export function recordings(): readonly Recording[] {
  return clis.flatMap((cli) =>
    readdirSync(join(folder, cli))
      .filter((file) => file.endsWith('.txt.gz'))
      .sort()
      .map((file) => recording(cli, file.slice(0, -'.txt.gz'.length))),
  );
}

export function unpacked(path: string): string {
  return gunzipSync(readFileSync(join(folder, path))).toString('utf8');
}

export function expectedPath({ cli, name }: Recording): string {
  return join(folder, cli, `${name}.expected.txt`);
}

export interface SupervisedRun {
  readonly clock: SimulatedClock;
  readonly gear: Switchgear;
  readonly task: Task;
  readonly accounting: EventAccounting;
  readonly entries: Entry[];
  /** Tells lines as they are printed, until the run is halted. */
  print(...lines: readonly string[]): void;
  account(...events: readonly AgentEvent[]): void;
}

/** A gear that watches one run. */
export function superviseRun(reader: Reader, policy: PolicyDocument = {}): SupervisedRun {
  const clock = simulatedClock();
  const entries: Entry[] = [];
  const gear = createSwitchgear({
    agent: 'agent',
    session: 's',
    clock,
    prices: priceBook(),
    policy: { journal: { level: 'all' }, ...policy },
    env: {},
    log: 'silent',
    project: 'test',
  });
  gear.onEntry((entry) => entries.push(entry));
  const task = gear.startTask({ id: 'run' });
  const accounting = accountEvents(gear, task);
  const account = (...events: readonly AgentEvent[]) => {
    for (const event of events) if (accounting.halt === undefined) accounting.account(event);
  };
  const lines = boundedLines({ line: (line) => account(...reader.read(line)) });
  return { clock, gear, task, accounting, entries, print: (...texts) => lines.write(`${texts.join('\n')}\n`), account };
}

export interface Played extends SupervisedRun {
  /** Lines that were read before the run was halted, or all of them. */
  readonly read: number;
  /** Calls and model calls that had been seen by then. */
  readonly calls: number;
}

/** Plays a recording with its own timing. A halt ends it, as it would have ended the process. */
export function play({ cli, lines, endMs }: Recording, policy?: PolicyDocument): Played {
  const run = superviseRun(readers[cli](), policy);
  let read = 0;
  for (const { atMs, line } of lines) {
    run.clock.advance(Math.max(0, atMs - run.clock.nowMs()));
    if (run.accounting.halt !== undefined) break;
    run.print(line);
    read++;
  }
  if (run.accounting.halt === undefined) run.clock.advance(Math.max(0, endMs - run.clock.nowMs()));
  const { toolCalls: calls } = run.task.snapshot();
  run.accounting.end();
  return { ...run, read, calls };
}

/** What was decided, line by line: everything but signs of life. */
export function journalOf({ entries, task, accounting, read }: Played): string {
  const { toolCalls, spendUsd, tokens } = task.snapshot();
  const { halt, result } = accounting;
  const lines = entries.filter(({ type }) => type !== 'sign-observed').map(lineOf);
  const counts = `calls ${toolCalls} · ${(spendUsd * 100).toFixed(2)} cents · ${tokens} tokens · ${read} lines read`;
  const end = halt === undefined ? `left alone, result ${result?.ok}` : `halted: ${halt.code}: ${halt.explanation}`;
  return `${[...lines, counts, end].join('\n')}\n`;
}

function lineOf({ seq: _seq, atMs, wallMs: _wall, type, session: _session, agent: _agent, task, ...body }: Entry) {
  const { limits: _limits, ...rest } = body as Record<string, unknown>;
  return `${atMs} ${task ?? '-'} ${type} ${JSON.stringify(rest)}`;
}
