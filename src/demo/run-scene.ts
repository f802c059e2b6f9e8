/** Runs the stand-in under `switchgear run`, as anybody would run an agent: processes, in a folder that goes away. */

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Code } from '../core/verdict.ts';
import { playScript, type Step, standInFile } from './fake-agent.ts';
import type { Mark } from './scene.ts';

/** What is to be run. */
export interface Watched {
  readonly prompt: string;
  /** Options of `run`. */
  readonly options?: readonly string[];
  readonly script: readonly Step[];
}

/** What became of it. */
export interface WatchedEnd {
  /** The command line, as a person types it. */
  readonly command: string;
  readonly exitCode: number | null;
  readonly code: Code | undefined;
  /** What `run` said on stderr, line by line. */
  readonly told: readonly string[];
  readonly marks: readonly Mark[];
  /** What the agent answered, where it came to its end. */
  readonly answer: string | undefined;
}

export interface Theatre {
  run(watched: Watched): Promise<WatchedEnd>;
  /** Ends what still runs, and takes everything away. */
  close(): void;
}

/** A line of `run --json`, as far as it is looked at here. */
interface Line {
  readonly kind: 'run' | 'event' | 'entry' | 'card';
  readonly type: string;
  readonly id?: string;
  readonly ok?: boolean;
  readonly text?: string;
  readonly code?: Code;
}

const bin = fileURLToPath(new URL('../../bin/switchgear.cjs', import.meta.url));
/** Each is three processes, and a small machine should not look slow. */
const atOnce = 2;

export function openTheatre(): Theatre {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-demo-'));
  const running = new Set<ReturnType<typeof spawn>>();
  const queue: (() => void)[] = [];
  let opened = 0;
  let free = atOnce;
  let isClosed = false;

  async function turn<T>(work: () => Promise<T>): Promise<T> {
    if (free === 0) await new Promise<void>((resolve) => void queue.push(resolve));
    else free--;
    try {
      if (isClosed) throw over();
      return await work();
    } finally {
      const next = queue.shift();
      if (next === undefined) free++;
      else next();
    }
  }

  function start({ prompt, options = [], script }: Watched): Promise<WatchedEnd> {
    const home = join(folder, String(++opened));
    mkdirSync(home);
    const agent = join(home, 'claude.mjs'); // The name by which `run` knows how to read it.
    const [file, steps] = [JSON.stringify(standInFile), JSON.stringify(script)];
    writeFileSync(agent, `import { ${playScript.name} } from ${file};\nawait ${playScript.name}(${steps});\n`);
    const ours = [
      'run',
      '--store',
      'memory',
      '--no-ask',
      '--json',
      ...options,
      '--',
      process.execPath,
      agent,
      '-p',
      prompt,
    ];
    // Nothing of the user's own: no settings, no state, no session files; only what is compiled already.
    const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
    const own = { HOME: home, CLAUDE_CONFIG_DIR: home, XDG_STATE_HOME: home, XDG_CACHE_HOME: cache };
    const env = { PATH: process.env.PATH, ...own };
    return new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [bin, ...ours], { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] });
      running.add(child);
      const [out, err]: [Buffer[], Buffer[]] = [[], []];
      child.stdout.on('data', (piece: Buffer) => void out.push(piece));
      child.stderr.on('data', (piece: Buffer) => void err.push(piece));
      child.on('error', reject);
      child.on('close', (exitCode) => {
        running.delete(child);
        if (isClosed) return reject(over()); // What was cut off need not be read.
        const command = ['switchgear run', ...options, '-- claude -p', JSON.stringify(prompt)].join(' ');
        resolve({ command, exitCode, told: linesOf(err), ...seenIn(linesOf(out)) });
      });
    });
  }

  return {
    run: (watched) => turn(() => start(watched)),
    close() {
      isClosed = true;
      for (const child of running) child.kill('SIGTERM');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function over(): Error {
  return new Error('the demo is over');
}

function linesOf(pieces: readonly Buffer[]): readonly string[] {
  const text = Buffer.concat(pieces).toString('utf8');
  return text.split('\n').filter((line) => line.trim() !== '');
}

/** What the event stream of `run` tells: what was done until the halt, and why it was one. */
function seenIn(lines: readonly string[]): Pick<WatchedEnd, 'code' | 'marks' | 'answer'> {
  const all = lines.map((line) => JSON.parse(line) as Line);
  const code = all.find(({ type }) => type === 'run-halted')?.code;
  const haltedAt = all.findIndex(({ type }) => type === 'task-halted');
  const until = all.slice(0, haltedAt === -1 ? all.length : haltedAt).filter(({ kind }) => kind === 'event');
  const failed = new Set(until.flatMap(({ type, id, ok }) => (type === 'tool_result' && ok === false ? id : [])));
  const calls = until.filter(({ type }) => type === 'tool_use');
  const marks: Mark[] =
    calls.length > 0
      ? calls.map(({ id }) => (failed.has(id) ? 'failed' : 'ran'))
      : until.flatMap(({ type }) => (type === 'assistant' ? ['said' as const] : []));
  if (code !== undefined) {
    // What was too much is told after the halt: a call or words of their own, or what became of the last.
    const tooMuch = haltedAt === -1 ? undefined : all.slice(haltedAt).find(({ kind }) => kind === 'event');
    if (tooMuch?.type === 'tool_result' || tooMuch?.type === 'usage') marks.pop();
    marks.push('halted');
  }
  const answer = all.findLast(({ kind, type }) => kind === 'event' && type === 'result')?.text;
  return { code, marks, answer };
}
