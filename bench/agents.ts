/**
 * How fast a stream of events is taken in: 200 MB of lines through a program that only splits, parses and passes them
 * on, through one that also reads them, and through one that books them, too. Ratios of the processor time of whole
 * processes, side by side, so that other work on the machine matters little: `node bench/agents.ts`.
 */

import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { accountEvents, boundedLines } from '../src/agents/index.ts';
import { createSwitchgear } from '../src/index.ts';
import { priceBook } from '../src/prices/index.ts';
import { type Cli, readers } from '../test/agents/recording.ts';
import { fillRecorded } from './streams.ts';

const wantedBytes = 200_000_000;
const rounds = 3;
const parts = ['baseline', 'read', 'booked'] as const;
type Part = (typeof parts)[number];

/** Results of tools as they often are: some pages long. */
const pages = 'a line of a file that an agent reads, with some words in it\\n'.repeat(100);

const [, , requestedPart, cli = 'claude-code'] = process.argv;
if (requestedPart === undefined) measure();
else passThrough(createConsumer(requestedPart as Part, cli as Cli));

/** Reads standard input by lines, passes every line on, and tells at the end what that took. */
function passThrough(consume: (line: string) => void): void {
  const out: string[] = [];
  const lines = boundedLines({
    line(line) {
      consume(line);
      out.push(line);
    },
  });
  process.stdin.on('data', (chunk: Buffer) => {
    lines.write(chunk);
    if (out.length > 0) process.stdout.write(`${out.splice(0).join('\n')}\n`);
  });
  process.stdin.on('end', () => {
    const { user, system } = process.cpuUsage();
    process.stderr.write(String((user + system) / 1e6));
  });
}

function createConsumer(part: Part, cli: Cli): (line: string) => void {
  if (part === 'baseline') return (line) => void JSON.parse(line);
  const reader = readers[cli]();
  if (part === 'read') return (line) => void reader.read(line);
  // Limits that are out of reach: a run that was halted would book nothing more.
  const policy = { task: { max_tool_calls: 1e9, max_spend_cents: 1e9 } };
  const gear = createSwitchgear({ policy, log: 'silent', env: {}, prices: priceBook() });
  const task = gear.startTask();
  const accounting = accountEvents(gear, task);
  process.stdin.on('end', () => {
    if (accounting.halt !== undefined) throw new Error(`halted, so that less was measured: ${accounting.halt.message}`);
    accounting.end();
    task.end();
  });
  return (line) => {
    for (const event of reader.read(line)) accounting.account(event);
  };
}

function measure(): void {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-bench-'));
  const file = join(folder, 'stream.jsonl');
  const streams = [
    ['claude-code', 'spend-partial-messages', '', 'as recorded, in pieces'],
    ['claude-code', 'healthy', pages, 'results of 6 kB'],
    ['claude-code', 'healthy', '', 'as recorded'],
    ['codex', 'healthy', '', 'as recorded'],
    ['gemini', 'healthy', '', 'as recorded'],
    ['opencode', 'healthy', '', 'as recorded'],
  ] as const;
  try {
    for (const [of, name, more, what] of streams) {
      const count = fillRecorded(file, wantedBytes, of, [name], (text) => addPages(text, more));
      const secs = Object.fromEntries(parts.map((part) => [part, Array.from({ length: rounds }, () => 0)]));
      for (let round = 0; round < rounds; round++) {
        for (const part of parts) secs[part]![round] = measureSeconds(file, part, of);
      }
      const [plain, read, booked] = parts.map((part) => Math.min(...secs[part]!)) as [number, number, number];
      const ratio = (ours: number) => `${(plain / ours).toFixed(2)}x`;
      console.log(`${of}, ${what}: ${count} lines; read ${ratio(read)}, read and booked ${ratio(booked)}`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function addPages(text: string, pages: string): string {
  return pages === '' ? text : text.replace(/"content":"(?=[^"]*","is_error)/g, `"content":"${pages}`);
}

function measureSeconds(file: string, part: Part, cli: Cli): number {
  const input = openSync(file, 'r');
  const { status, stderr } = spawnSync(process.execPath, [import.meta.filename, part, cli], {
    stdio: [input, 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  closeSync(input);
  if (status !== 0) throw new Error(`${part} ended with ${status}: ${stderr}`);
  return Number(stderr);
}
