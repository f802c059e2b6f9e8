/** Runs the fake agent under `switchgear run`, as a process in a temporary folder. */

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Code } from '../core/verdict.ts';
import { type FakeAgentStep, fakeAgentFile, playScript } from './fake-agent.ts';
import type { AttemptMark } from './scene.ts';

/** The agent run to start. */
export interface AgentRun {
  readonly prompt: string;
  /** Options of `run`. */
  readonly options?: readonly string[];
  readonly script: readonly FakeAgentStep[];
}

/** The result of an agent run. */
export interface AgentRunResult {
  /** The command line, as a person types it. */
  readonly command: string;
  readonly exitCode: number | null;
  readonly code: Code | undefined;
  /** The lines that `run` printed to stderr. */
  readonly stderrLines: readonly string[];
  readonly marks: readonly AttemptMark[];
  /** The answer of the agent, if it finished. */
  readonly answer: string | undefined;
}

export interface AgentRunner {
  run(agentRun: AgentRun): Promise<AgentRunResult>;
  /** Ends running processes and removes the folder. */
  close(): void;
}

/** The fields of a line of `run --json` that are read here. */
interface StreamLine {
  readonly kind: 'run' | 'event' | 'entry' | 'card';
  readonly type: string;
  readonly id?: string;
  readonly ok?: boolean;
  readonly text?: string;
  readonly code?: Code;
}

const binFile = fileURLToPath(new URL('../../bin/switchgear.cjs', import.meta.url));
/** Each run has three processes; more than two runs at once would be slow on a small machine. */
const concurrency = 2;

export function createAgentRunner(): AgentRunner {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-demo-'));
  const running = new Set<ReturnType<typeof spawn>>();
  const queue: (() => void)[] = [];
  let runCount = 0;
  let freeSlots = concurrency;
  let isClosed = false;

  async function withSlot<T>(work: () => Promise<T>): Promise<T> {
    if (freeSlots === 0) await new Promise<void>((resolve) => void queue.push(resolve));
    else freeSlots--;
    try {
      if (isClosed) throw demoOverError();
      return await work();
    } finally {
      const next = queue.shift();
      if (next === undefined) freeSlots++;
      else next();
    }
  }

  function startAgent({ prompt, options = [], script }: AgentRun): Promise<AgentRunResult> {
    const home = join(folder, String(++runCount));
    mkdirSync(home);
    const agent = join(home, 'claude.mjs'); // `run` recognises the agent by this name.
    const [file, steps] = [JSON.stringify(fakeAgentFile), JSON.stringify(script)];
    writeFileSync(agent, `import { ${playScript.name} } from ${file};\nawait ${playScript.name}(${steps});\n`);
    const args = [
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
    // Do not use the user's settings, state or session files; use only the compile cache.
    const cache = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
    const own = { HOME: home, CLAUDE_CONFIG_DIR: home, XDG_STATE_HOME: home, XDG_CACHE_HOME: cache };
    const env = { PATH: process.env.PATH, ...own };
    return new Promise((resolve, reject) => {
      const child = spawn(process.execPath, [binFile, ...args], { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] });
      running.add(child);
      const [out, err]: [Buffer[], Buffer[]] = [[], []];
      child.stdout.on('data', (piece: Buffer) => void out.push(piece));
      child.stderr.on('data', (piece: Buffer) => void err.push(piece));
      child.on('error', reject);
      child.on('close', (exitCode) => {
        running.delete(child);
        if (isClosed) return reject(demoOverError()); // The output of an interrupted run is not read.
        const command = ['switchgear run', ...options, '-- claude -p', JSON.stringify(prompt)].join(' ');
        resolve({ command, exitCode, stderrLines: splitLines(err), ...readEventStream(splitLines(out)) });
      });
    });
  }

  return {
    run: (agentRun) => withSlot(() => startAgent(agentRun)),
    close() {
      isClosed = true;
      for (const child of running) child.kill('SIGTERM');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function demoOverError(): Error {
  return new Error('the demo is over');
}

function splitLines(pieces: readonly Buffer[]): readonly string[] {
  const text = Buffer.concat(pieces).toString('utf8');
  return text.split('\n').filter((line) => line.trim() !== '');
}

/** Reads the output of `run --json`: the attempts before the halt, and its reason. */
function readEventStream(lines: readonly string[]): Pick<AgentRunResult, 'code' | 'marks' | 'answer'> {
  const streamLines = lines.map((line) => JSON.parse(line) as StreamLine);
  const code = streamLines.find(({ type }) => type === 'run-halted')?.code;
  const haltedAt = streamLines.findIndex(({ type }) => type === 'task-halted');
  const beforeHalt = streamLines
    .slice(0, haltedAt === -1 ? streamLines.length : haltedAt)
    .filter(({ kind }) => kind === 'event');
  const failed = new Set(beforeHalt.flatMap(({ type, id, ok }) => (type === 'tool_result' && ok === false ? id : [])));
  const calls = beforeHalt.filter(({ type }) => type === 'tool_use');
  const marks: AttemptMark[] =
    calls.length > 0
      ? calls.map(({ id }) => (failed.has(id) ? 'failed' : 'ran'))
      : beforeHalt.flatMap(({ type }) => (type === 'assistant' ? ['said' as const] : []));
  if (code !== undefined) {
    // The attempt that caused the halt is printed after it: a call, a text, or the result of the last call.
    const tooMuch = haltedAt === -1 ? undefined : streamLines.slice(haltedAt).find(({ kind }) => kind === 'event');
    if (tooMuch?.type === 'tool_result' || tooMuch?.type === 'usage') marks.pop();
    marks.push('halted');
  }
  const answer = streamLines.findLast(({ kind, type }) => kind === 'event' && type === 'result')?.text;
  return { code, marks, answer };
}
