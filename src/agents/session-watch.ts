/** Follows the files that an agent writes as it goes: found by its session, read a little at every look. */

import { closeSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { sessionFilesMax, tailBytesMax } from '../core/limits.ts';
import { claudeSessionReader } from './claude-code/session-file.ts';
import { codexSessionReader } from './codex/session-file.ts';
import { geminiSessionReader } from './gemini/session-file.ts';
import { opencodeWatch } from './opencode/database.ts';
import type { AgentCommand } from './reading/agent-command.ts';
import type { AgentEvent } from './reading/agent-event.ts';
import { fileTail } from './reading/file-tail.ts';
import { fieldsOf, type Reader, textOf } from './reading/reader.ts';
import { openPlain } from './reading/regular-file.ts';

export interface SessionWatchOptions {
  /** The agent's own id of the session, as its stream or a hook tells it. */
  readonly session: string;
  /** The folder the agent runs in, the home of whoever runs it, and its environment. */
  readonly cwd: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A stream is read, too: what that shows is left to it. */
  readonly beside?: boolean;
  /** The session is older than this run: what its files hold already was told before. */
  readonly resumed?: boolean;
  /** When the run began, by the wall clock. */
  readonly sinceMs: number;
}

export interface SessionWatch {
  /** What is new; it never throws, and files that are not there yet say nothing. */
  poll(): readonly AgentEvent[];
  close(): void;
}

/** A watch on the files of a session; undefined where we know of none, and for a session that is no name. */
export function sessionWatch(cli: AgentCommand['cli'], options: SessionWatchOptions): SessionWatch | undefined {
  // It comes from outside, and becomes part of a path.
  if (!/^[\w.-]*\w[\w.-]*$/.test(options.session)) return undefined;
  switch (cli) {
    case 'claude-code':
      return claudeWatch(options);
    case 'codex':
      return codexWatch(options);
    case 'gemini':
      return geminiWatch(options);
    case 'opencode':
      return opencodeWatch(options);
    case 'other':
      return undefined;
  }
}

/** The files of one run: each is read by a reader of its own, from where it is first seen. */
function followed(resumed: boolean) {
  const files = new Map<string, { poll(): boolean }>();
  const events: AgentEvent[] = [];
  let isFirst = true;
  return {
    has: (path: string) => files.has(path),
    /** Follows a file from now on; of a session that is gone on with only what is added to files that were there. */
    follow(path: string, reader: Reader, opening: readonly AgentEvent[] = []): void {
      if (files.has(path) || files.size >= sessionFilesMax) return;
      events.push(...opening);
      const take = (line: string) => void events.push(...reader.read(line));
      files.set(path, fileTail(path, take, { atEnd: resumed && isFirst }));
    },
    poll(): readonly AgentEvent[] {
      for (const file of files.values()) file.poll();
      isFirst = isFirst && files.size === 0;
      return events.splice(0).filter(({ type }) => type !== 'heartbeat');
    },
  };
}

function claudeWatch({ session, cwd, home, env, beside = false, resumed = false }: SessionWatchOptions): SessionWatch {
  const projects = join(env.CLAUDE_CONFIG_DIR ?? join(home, '.claude'), 'projects');
  const files = followed(resumed);
  let main: string | undefined;

  function find(): string | undefined {
    const name = `${session}.jsonl`;
    const usual = join(projects, cwd.replace(/[^A-Za-z0-9]/g, '-'));
    const folders = [usual, ...list(projects).map((each) => join(projects, each))];
    const folder = folders.find((each) => list(each).includes(name));
    return folder && join(folder, name);
  }

  return {
    poll() {
      main ??= find();
      if (main === undefined) return [];
      files.follow(main, claudeSessionReader({ beside }));
      const below = join(dirname(main), session, 'subagents');
      for (const name of list(below)) {
        const id = /^agent-(.+)\.jsonl$/.exec(name)?.[1];
        const path = join(below, name);
        if (id === undefined || files.has(path)) continue;
        const kind = typeOf(path.replace(/\.jsonl$/, '.meta.json'));
        const begun: AgentEvent = { type: 'subagent_started', id, ...(kind && { name: kind }) };
        files.follow(path, claudeSessionReader({ beside }), beside ? [] : [begun]);
      }
      return files.poll();
    },
    close() {},
  };
}

function typeOf(path: string): string | undefined {
  const opened = openPlain(path);
  if (opened === undefined) return undefined;
  try {
    if (opened.size > tailBytesMax) return undefined;
    const { agentType, subagent_type: other } = fieldsOf(JSON.parse(readFileSync(opened.file, 'utf8')));
    return textOf(agentType) ?? textOf(other);
  } catch {
    return undefined;
  } finally {
    closeSync(opened.file);
  }
}

function codexWatch({
  session,
  home,
  env,
  beside = false,
  resumed = false,
  sinceMs,
}: SessionWatchOptions): SessionWatch {
  const sessions = join(env.CODEX_HOME ?? join(home, '.codex'), 'sessions');
  const files = followed(resumed);
  const threads = new Set([session]);
  const strangers = new Set<string>();

  function look(folder: string): void {
    for (const name of list(folder)) {
      const id = /^rollout-.*?([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/.exec(name)?.[1];
      const path = join(folder, name);
      if (id === undefined || files.has(path) || strangers.has(id)) continue;
      // A thread of another run, or an older one, has nothing to do with this.
      if (id !== session && madeMs(id) < sinceMs - 60_000) continue;
      const parent = id === session ? undefined : parentOf(path);
      if (id === session || (parent !== undefined && threads.has(parent))) {
        threads.add(id);
        files.follow(path, codexSessionReader({ beside }));
      } else if (parent !== undefined && strangers.size < sessionFilesMax) strangers.add(id);
    }
  }

  return {
    poll() {
      for (const folder of daysAround(madeMs(session), sinceMs)) look(join(sessions, folder));
      return files.poll();
    },
    close() {},
  };
}

/** Who sent the thread of a rollout: its parent, itself where nobody did, undefined until its first line is there. */
function parentOf(path: string): string | undefined {
  const reader = codexSessionReader();
  fileTail(path, (line) => void (reader.thread ?? reader.read(line))).poll();
  return reader.parent ?? reader.thread;
}

/** When an id was made: its first twelve digits are the time. */
function madeMs(id: string): number {
  return Number.parseInt(id.replace('-', '').slice(0, 12), 16) || 0;
}

const dayMs = 86_400_000;

/** The folders of some days, and of those beside them: a day depends on where one is. */
function daysAround(...timesMs: readonly number[]): readonly string[] {
  const days = timesMs.flatMap((ms) => [ms - dayMs, ms, ms + dayMs]);
  return [...new Set(days.map((ms) => new Date(ms).toISOString().slice(0, 10).replaceAll('-', '/')))];
}

function geminiWatch({ session, home, env, beside = false, resumed = false }: SessionWatchOptions): SessionWatch {
  const projects = join(env.GEMINI_CLI_HOME ?? home, '.gemini', 'tmp');
  const files = followed(resumed);
  let main: string | undefined;

  function find(): string | undefined {
    for (const project of list(projects)) {
      const chats = join(projects, project, 'chats');
      const name = list(chats).findLast((each) => each.endsWith(`-${session.slice(0, 8)}.jsonl`));
      if (name !== undefined) return join(chats, name);
    }
    return undefined;
  }

  return {
    poll() {
      main ??= find();
      if (main === undefined) return [];
      files.follow(main, geminiSessionReader({ beside }));
      const below = join(dirname(main), session);
      for (const name of list(below)) {
        const agent = basename(name, '.jsonl');
        if (!name.endsWith('.jsonl')) continue;
        const begun: AgentEvent = { type: 'subagent_started', id: agent };
        files.follow(join(below, name), geminiSessionReader({ beside, agent }), beside ? [] : [begun]);
      }
      return files.poll();
    },
    close() {},
  };
}

/** The names in a folder, as many as are looked at; none where it cannot be read. */
function list(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort().slice(-sessionFilesMax);
  } catch {
    return [];
  }
}
