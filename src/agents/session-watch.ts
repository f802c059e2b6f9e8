/** Follows the session files of a running agent: finds them by session id and reads a bounded piece at every poll. */

import { closeSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { sessionFilesMax, tailBytesMax } from '../core/limits.ts';
import { openRegularFile } from '../platform/regular-file.ts';
import { claudeSessionReader } from './claude-code/session-file.ts';
import { codexSessionReader } from './codex/session-file.ts';
import { geminiSessionReader } from './gemini/session-file.ts';
import { watchOpencode } from './opencode/database.ts';
import type { AgentCommand } from './reading/agent-command.ts';
import type { AgentEvent } from './reading/agent-event.ts';
import { fileTail } from './reading/file-tail.ts';
import { asObject, asText, type Reader } from './reading/reader.ts';

/** Options of `sessionWatch`. */
export interface SessionWatchOptions {
  /** The agent's own session id, from its stream or a hook. */
  readonly session: string;
  /** The agent's working directory, the user's home directory, and the environment. */
  readonly cwd: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * Whether the stream is read as well; then events that the stream contains are skipped.
   * @default false
   */
  readonly besideStream?: boolean;
  /**
   * Whether the session is older than this run; then the existing content of its files is skipped.
   * @default false
   */
  readonly resumed?: boolean;
  /** The wall time of the start of the run. */
  readonly sinceMs: number;
}

/** Reads session files of a running agent for events that its stream omits. */
export interface SessionWatch {
  /** The new events. Never throws; missing files have no events. */
  poll(): readonly AgentEvent[];
  /** Releases open files and databases. */
  close(): void;
}

/**
 * Creates a watch on the files of a session; undefined if the agent has no known files or the session id is not a
 * valid file name.
 */
export function sessionWatch(cli: AgentCommand['cli'], options: SessionWatchOptions): SessionWatch | undefined {
  // The id comes from another program and becomes part of a path.
  if (!/^[\w.-]*\w[\w.-]*$/.test(options.session)) return undefined;
  switch (cli) {
    case 'claude-code':
      return watchClaude(options);
    case 'codex':
      return watchCodex(options);
    case 'gemini':
      return watchGemini(options);
    case 'opencode':
      return watchOpencode(options);
    case 'other':
      return undefined;
  }
}

/** Follows the files of one run, each with its own reader. */
function followFiles(resumed: boolean) {
  const files = new Map<string, { poll(): boolean }>();
  const events: AgentEvent[] = [];
  let isFirst = true;
  return {
    has: (path: string) => files.has(path),
    /** Starts to follow a file. In a resumed session the existing content of its files is skipped. */
    follow(path: string, reader: Reader, opening: readonly AgentEvent[] = []): void {
      if (files.has(path) || files.size >= sessionFilesMax) return;
      events.push(...opening);
      const onLine = (line: string) => {
        for (const event of reader.read(line)) events.push(event); // A line may have more events than a call arguments.
      };
      files.set(path, fileTail(path, onLine, { atEnd: resumed && isFirst }));
    },
    poll(): readonly AgentEvent[] {
      for (const file of files.values()) file.poll();
      isFirst = isFirst && files.size === 0;
      return events.splice(0).filter(({ type }) => type !== 'heartbeat');
    },
  };
}

function watchClaude({
  session,
  cwd,
  home,
  env,
  besideStream = false,
  resumed = false,
}: SessionWatchOptions): SessionWatch {
  const projects = join(env.CLAUDE_CONFIG_DIR ?? join(home, '.claude'), 'projects');
  const files = followFiles(resumed);
  let main: string | undefined;

  function findMainFile(): string | undefined {
    const name = `${session}.jsonl`;
    const expectedFolder = join(projects, cwd.replace(/[^A-Za-z0-9]/g, '-'));
    const folders = [expectedFolder, ...listNames(projects).map((each) => join(projects, each))];
    const folder = folders.find((each) => listNames(each).includes(name));
    return folder && join(folder, name);
  }

  return {
    poll() {
      main ??= findMainFile();
      if (main === undefined) return [];
      files.follow(main, claudeSessionReader({ besideStream }));
      const subagentFolder = join(dirname(main), session, 'subagents');
      for (const name of listNames(subagentFolder)) {
        const id = /^agent-(.+)\.jsonl$/.exec(name)?.[1];
        const path = join(subagentFolder, name);
        if (id === undefined || files.has(path)) continue;
        const kind = readAgentType(path.replace(/\.jsonl$/, '.meta.json'));
        const started: AgentEvent = { type: 'subagent_started', id, ...(kind && { name: kind }) };
        files.follow(path, claudeSessionReader({ besideStream }), besideStream ? [] : [started]);
      }
      return files.poll();
    },
    close() {},
  };
}

function readAgentType(path: string): string | undefined {
  const opened = openRegularFile(path);
  if (opened === undefined) return undefined;
  try {
    if (opened.size > tailBytesMax) return undefined;
    const { agentType, subagent_type: subagentType } = asObject(JSON.parse(readFileSync(opened.file, 'utf8')));
    return asText(agentType) ?? asText(subagentType);
  } catch {
    return undefined;
  } finally {
    closeSync(opened.file);
  }
}

function watchCodex({
  session,
  home,
  env,
  besideStream = false,
  resumed = false,
  sinceMs,
}: SessionWatchOptions): SessionWatch {
  const sessions = join(env.CODEX_HOME ?? join(home, '.codex'), 'sessions');
  const files = followFiles(resumed);
  const threads = new Set([session]);
  const unrelated = new Set<string>();

  function scanFolder(folder: string): void {
    for (const name of listNames(folder)) {
      const id = /^rollout-.*?([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$/.exec(name)?.[1];
      const path = join(folder, name);
      if (id === undefined || files.has(path) || unrelated.has(id)) continue;
      // Skip threads that are older than this run.
      if (id !== session && idTimeMs(id) < sinceMs - 60_000) continue;
      const parent = id === session ? undefined : readParentThread(path);
      if (id === session || (parent !== undefined && threads.has(parent))) {
        threads.add(id);
        files.follow(path, codexSessionReader({ besideStream }));
      } else if (parent !== undefined && unrelated.size < sessionFilesMax) unrelated.add(id);
    }
  }

  return {
    poll() {
      for (const folder of listDaysAround(idTimeMs(session), sinceMs)) scanFolder(join(sessions, folder));
      return files.poll();
    },
    close() {},
  };
}

/**
 * The parent thread of a rollout file; the thread itself if it has no parent; undefined before the first line is
 * written.
 */
function readParentThread(path: string): string | undefined {
  const reader = codexSessionReader();
  fileTail(path, (line) => void (reader.thread ?? reader.read(line))).poll();
  return reader.parent ?? reader.thread;
}

/** The creation time of an id, which is in its first twelve digits. */
function idTimeMs(id: string): number {
  return Number.parseInt(id.replace('-', '').slice(0, 12), 16) || 0;
}

const dayMs = 86_400_000;

/** The folders of some days and of their neighbours, because the date depends on the time zone. */
function listDaysAround(...timesMs: readonly number[]): readonly string[] {
  const days = timesMs.flatMap((ms) => [ms - dayMs, ms, ms + dayMs]);
  return [...new Set(days.map((ms) => new Date(ms).toISOString().slice(0, 10).replaceAll('-', '/')))];
}

function watchGemini({ session, home, env, besideStream = false, resumed = false }: SessionWatchOptions): SessionWatch {
  const projects = join(env.GEMINI_CLI_HOME ?? home, '.gemini', 'tmp');
  const files = followFiles(resumed);
  let main: string | undefined;

  function findMainFile(): string | undefined {
    for (const project of listNames(projects)) {
      const chats = join(projects, project, 'chats');
      const name = listNames(chats).findLast((each) => each.endsWith(`-${session.slice(0, 8)}.jsonl`));
      if (name !== undefined) return join(chats, name);
    }
    return undefined;
  }

  return {
    poll() {
      main ??= findMainFile();
      if (main === undefined) return [];
      files.follow(main, geminiSessionReader({ besideStream }));
      const subagentFolder = join(dirname(main), session);
      for (const name of listNames(subagentFolder)) {
        const agent = basename(name, '.jsonl');
        if (!name.endsWith('.jsonl')) continue;
        const started: AgentEvent = { type: 'subagent_started', id: agent };
        files.follow(
          join(subagentFolder, name),
          geminiSessionReader({ besideStream, agent }),
          besideStream ? [] : [started],
        );
      }
      return files.poll();
    },
    close() {},
  };
}

/** The names in a folder, up to a bound; empty if the folder cannot be read. */
function listNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder).sort().slice(-sessionFilesMax);
  } catch {
    return [];
  }
}
