/** Plays daily stories with real CLIs, without a guard and with each kind of one. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Entry } from '../../src/index.ts';
import { type Client, clients } from './clients.ts';
import { type DailyStory, dailyStories, type Move, type Script, slowStories, telling } from './daily-stories.ts';
import type { Turn } from './mock-model.ts';
import type { Asked } from './requests.ts';
import { type Finished, type Stage, stage } from './stage.ts';
import { mustEnd } from './stories.ts';

/** Ways to play a story. `slow` is a run with a model that needs six seconds for each turn. */
const surfaces = ['bare', 'run', 'hooks', 'gateway', 'slow'] as const;
type Surface = (typeof surfaces)[number];

interface Job {
  readonly client: Client;
  readonly story: DailyStory;
  readonly surface: Surface;
}

/** The result of a job: words for a cell of the table and for its line. */
interface Seen {
  readonly cell: string;
  readonly told: string;
}

const slowTurnMs = 6_000;
/** A runaway agent on a model that needs no time at all would be some calls further before it is ended. */
const hastyTurnMs = 100;
/** Stories that are played at once. */
const width = 2;

/** Plays what the words select: names of clients, stories and surfaces. Returns the exit code. */
export async function playDaily(folder: string, words: readonly string[]): Promise<number> {
  const all = clients.flatMap((client) => listJobs(client));
  const isOf = (names: readonly string[]) => {
    const wanted = words.filter((each) => names.includes(each));
    return (name: string) => wanted.length === 0 || wanted.includes(name);
  };
  const isClient = isOf(clients.map(({ name }) => name));
  const isSurface = isOf(surfaces);
  const isStory = isOf([...dailyStories, ...slowStories].map(({ name }) => name));
  const unknown = words.filter((each) => all.every((job) => !namesOf(job).includes(each)));
  if (unknown.length > 0) throw new Error(`nothing is called ${unknown.join(', ')}`);
  return playJobs(
    folder,
    all.filter(({ client, story, surface }) => isClient(client.name) && isSurface(surface) && isStory(story.name)),
  );
}

/** Plays the ten that are most telling, with Claude Code. */
export async function playTelling(folder: string): Promise<number> {
  const client = clients.find(({ name }) => name === 'claude')!;
  const jobs = surfaces.flatMap((surface) => {
    const stories: readonly DailyStory[] = surface in telling ? telling[surface as keyof typeof telling] : [];
    return stories.map((story) => ({ client, story, surface }));
  });
  return playJobs(folder, jobs);
}

function namesOf({ client, story, surface }: Job): readonly string[] {
  return [client.name, story.name, surface];
}

function listJobs(client: Client): readonly Job[] {
  const at = (surface: Surface, stories: readonly DailyStory[]) => stories.map((story) => ({ client, story, surface }));
  return [
    ...at(
      'bare',
      dailyStories.filter(({ kind }) => kind === 'healthy'),
    ),
    ...at('run', dailyStories),
    ...at('hooks', client.host === '' ? [] : dailyStories),
    ...at('gateway', dailyStories),
    ...at('slow', slowStories),
  ];
}

async function playJobs(folder: string, jobs: readonly Job[]): Promise<number> {
  const cells = new Map<Job, string>();
  const waiting = [...jobs];
  const began = performance.now();
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) cells.set(job, await tell(folder, job));
    }),
  );
  printTable(cells);
  const failed = [...cells.values()].filter((cell) => cell === failedCell).length;
  const minutes = ((performance.now() - began) / 60_000).toFixed(1);
  console.log(`\n${cells.size} stories were played in ${minutes} minutes; ${failed} failed.`);
  return jobs.length === 0 || failed > 0 ? 1 : 0;
}

const failedCell = 'FAILED';

/** Plays a job, prints its line, and returns its cell. */
async function tell(folder: string, job: Job): Promise<string> {
  const began = performance.now();
  const end = (verdict: string, told: string) => {
    const seconds = `${((performance.now() - began) / 1000).toFixed(1)} s`;
    console.log(`${verdict} ${namesOf(job).join(' · ')} · ${told} (${seconds})`);
  };
  try {
    const { cell, told } = await play(folder, job);
    end('ok    ', told);
    return cell;
  } catch (error) {
    end('FAILED', error instanceof Error ? error.message : String(error));
    return failedCell;
  }
}

/** A table for each client: a row for each story, a column for each surface. */
function printTable(cells: ReadonlyMap<Job, string>): void {
  for (const client of clients) {
    const own = [...cells].filter(([job]) => job.client === client);
    if (own.length === 0) continue;
    const names = [...new Set(own.map(([{ story }]) => story.name))];
    const rows = names.map((name) => [
      name,
      ...surfaces.map((surface) => own.find(([job]) => job.story.name === name && job.surface === surface)?.[1] ?? ''),
    ]);
    const table = [[client.name, ...surfaces], ...rows];
    const widths = table[0]!.map((_, column) => Math.max(...table.map((row) => row[column]!.length)));
    console.log('');
    for (const row of table)
      console.log(
        row
          .map((text, column) => text.padEnd(widths[column]!))
          .join('  ')
          .trimEnd(),
      );
  }
}

/** What a script wanted and did not see. */
interface Told {
  readonly turn: (asked: Asked) => Turn;
  readonly wrong: readonly string[];
  /** Whether it came to its last words. */
  readonly isDone: () => boolean;
}

/** Follows a script: a turn for each step of the conversation, and the same one where a request is repeated. */
function follow(script: Script, turnMs: number): Told {
  const moves: (Move | string)[] = [];
  const wrong: string[] = [];
  const last = () => moves.at(-1);
  return {
    wrong,
    isDone: () => typeof last() === 'string',
    turn({ step, last: showed }) {
      const before = last();
      if (step > moves.length) wrong.push(`turn ${step + 1} follows turn ${moves.length}`);
      if (step >= moves.length && typeof before !== 'string') {
        const { shows } = before ?? {};
        if (shows !== undefined && !showed.includes(shows))
          wrong.push(`turn ${step} did not show ${JSON.stringify(shows)}: ${showed.slice(0, 600)}`);
        moves.push(script.next(showed).value);
      }
      // Hooks cannot end every CLI: this one learns it as the result of a call, and obeys.
      if (showed.includes('Switchgear halted')) return { text: 'I stop here.' };
      const now = moves[Math.min(step, moves.length - 1)]!;
      if (typeof now === 'string') return { text: now, ...(turnMs > 0 && { afterMs: turnMs }) };
      const { calls, says, afterMs = 0 } = now;
      return { calls, ...(says !== undefined && { says }), afterMs: Math.max(turnMs, afterMs) };
    },
  };
}

/** The turns of an agent that sends out a subagent and waits for it. */
function sendOut({ step, body }: Asked, client: Client): Turn {
  if (step === 0) return { calls: [client.send(1)] };
  const waiting = client.wait?.(body);
  return waiting === undefined || step > 6 ? { text: 'The subagent is back.' } : { calls: [waiting] };
}

const policy = 'preset = "coding"\n';
let ports = 20_000;

async function play(folder: string, { client, story, surface }: Job): Promise<Seen> {
  const turnMs = surface === 'slow' ? slowTurnMs : story.kind === 'bad' ? hastyTurnMs : 0;
  const told = follow(story.script(client, ports++), turnMs);
  const isOwn = ({ errand }: Asked) => (errand !== undefined) === (story.isErrand === true);
  const on = await stage(client, folder, (asked) => (isOwn(asked) ? told.turn(asked) : sendOut(asked, client)), {
    prompt: 'Do what is to be done here.',
    files: story.files,
    patienceMs: 400_000,
  });
  try {
    if (story.isRepository === true) makeRepository(on);
    const finished = await playOn(surface, client, on);
    const requests = on.asked.filter(isOwn).length;
    const journal = surface === 'bare' ? [] : await on.journal();
    if (surface === 'hooks') assert.ok(on.wereHooksAsked(), 'no hook was asked');
    if (story.kind === 'bad') return seeHalt(story, surface, { finished, journal, requests });
    assert.deepEqual(told.wrong, [], 'the script is wrong');
    return await seeWork(story, on, told, { finished, journal, requests });
  } finally {
    endServer(on);
    await on.close();
  }
}

function makeRepository({ work, folder }: Stage): void {
  const git = 'git -c user.name=Daily -c user.email=daily@example.org';
  const script = `git init -q && git add -A && ${git} commit -q -m First`;
  const { status, stderr } = spawnSync('sh', ['-c', script], { cwd: work, env: { ...process.env, HOME: folder } });
  assert.equal(status, 0, String(stderr));
}

/** Ends the server of a story that did not come to its end. */
function endServer({ work }: Stage): void {
  const file = join(work, 'server.pid');
  if (!existsSync(file)) return;
  try {
    process.kill(Number(readFileSync(file, 'utf8')));
  } catch {
    // It has ended.
  }
}

async function playOn(surface: Surface, { host }: Client, on: Stage): Promise<Finished> {
  const file = join(on.folder, 'daily.toml');
  writeFileSync(file, policy);
  switch (surface) {
    case 'bare':
      return on.alone();
    case 'run':
    case 'slow':
      return on.run('--policy', file);
    case 'hooks':
      mustEnd(await on.switchgear('init', host, '--policy', file), 0);
      return on.alone();
    case 'gateway':
      return on.behindGateway('--policy', file);
  }
}

interface Ended {
  readonly finished: Finished;
  readonly journal: readonly Entry[];
  readonly requests: number;
}

/** Entries that show what happened, for the message of a failure. */
function showJournal(journal: readonly Entry[]): string {
  const silent = /^(text|call|result|usage|sign|progress)-observed$|^action-(allowed|settled)$/;
  const lines = journal.filter(({ type }) => !silent.test(type)).map((entry) => JSON.stringify(entry));
  return `\n${lines.map((line) => line.slice(0, 700)).join('\n')}`;
}

/** The suspicions, as what they were about. */
const hintsOf = (journal: readonly Entry[]): readonly string[] =>
  journal.flatMap((entry) => (entry.type === 'loop-suspected' ? [String(entry.counters.evidence)] : []));

/** The work was done, and nobody was held. */
async function seeWork({ proof = 'true' }: DailyStory, on: Stage, told: Told, ended: Ended): Promise<Seen> {
  const { finished, journal, requests } = ended;
  const seen = showJournal(journal);
  assert.equal(finished.code, 0, `it ended with ${finished.code}: ${finished.err.slice(-1_500)}${seen}`);
  assert.ok(told.isDone(), `it ended in turn ${requests}: ${finished.err.slice(-1_500)}${seen}`);
  const { status, stdout } = spawnSync('sh', ['-c', proof], { cwd: on.work });
  assert.equal(status, 0, `the work is not done: ${stdout}`);
  const held = journal.filter(({ type }) => /^(action-refused|action-asked|task-halted)$/.test(type));
  assert.equal(held.length, 0, `it was held${seen}`);
  const cards = (await on.cards()).map(({ kind }) => kind);
  assert.ok(
    cards.every((kind) => kind === 'notice'),
    `there are cards: ${cards}${seen}`,
  );
  const hints = hintsOf(journal).map((evidence) => `hint ${evidence}`);
  const more = [...hints, ...cards.map(() => 'card')];
  return {
    cell: ['ok', requests, ...more.map((each) => each.split(' ', 1)[0])].join(' '),
    told: [`left alone; ${requests} requests`, ...more].join(', '),
  };
}

/** It was halted for its repetition, in time. */
function seeHalt({ haltedBy = 10 }: DailyStory, surface: Surface, { finished, journal, requests }: Ended): Seen {
  const seen = showJournal(journal);
  const halts = journal.flatMap((entry) => (entry.type === 'task-halted' ? [entry] : []));
  const codes = [...new Set(halts.map(({ stop }) => stop.code))];
  assert.deepEqual(codes, ['tool_loop'], `it ended with ${finished.code} after ${requests} requests${seen}`);
  assert.ok(requests <= haltedBy, `${requests} requests, not ${haltedBy}${seen}`);
  if (surface === 'run' || surface === 'slow') mustEnd(finished, 75);
  return { cell: `halt@${requests}`, told: `halted; ${requests} requests, ${hintsOf(journal).length} hints` };
}
