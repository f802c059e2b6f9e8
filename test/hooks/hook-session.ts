/** A session of an agent with hooks, as the command sees it: each event a call of its own on a real file. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { main } from '../../src/cli/main.ts';
import type { Card } from '../../src/core/card.ts';
import type { Entry } from '../../src/core/event.ts';
import { hookMarginMs, hookTimeoutMs } from '../../src/core/limits.ts';
import { sqliteStore } from '../../src/stores/sqlite/index.ts';
import { describeThisProcess, type RunRecord, writeRun } from '../../src/supervisor/run-record.ts';

export type Event = Readonly<Record<string, unknown>>;

export interface HookSession {
  readonly folder: string;
  readonly store: string;
  /** Sends an event; what was printed comes back. */
  send(event: Event, env?: Readonly<Record<string, string>>, words?: readonly string[]): Promise<Answer>;
  /** What the journal says, and the cards. */
  journal(): readonly Entry[];
  cards(): readonly Card[];
  clear(): void;
}

export interface Answer {
  readonly code: number;
  /** The one JSON object, or undefined where it was silent. */
  readonly output: HookOutput | undefined;
  readonly err: string;
}

export interface HookOutput {
  readonly continue?: boolean;
  readonly stopReason?: string;
  readonly decision?: string;
  readonly reason?: string;
  readonly hookSpecificOutput?: {
    readonly permissionDecision?: string;
    readonly permissionDecisionReason?: string;
    readonly additionalContext?: string;
  };
}

export function newSession(host = 'claude-code'): HookSession {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-hooks-'));
  const path = join(folder, 'state.db');
  const store = `sqlite:${path}`;
  const readStore = <T>(ask: (store: ReturnType<typeof sqliteStore>) => T): T => {
    const opened = sqliteStore({ path });
    try {
      return ask(opened);
    } finally {
      opened.close();
    }
  };
  return {
    folder,
    store,
    async send(event, env = {}, words = []) {
      const out: string[] = [];
      const err: string[] = [];
      const payload = { session_id: 's-1', cwd: folder, ...event };
      const timeout = words.includes('--timeout') ? [] : ['--timeout', defaultTimeout()];
      const code = await main(['hook', host, ...timeout, ...words], {
        out: (line) => out.push(line),
        err: (line) => err.push(line),
        cwd: folder,
        env: { SWITCHGEAR_STORE: store, ...env },
        input: Readable.from([Buffer.from(JSON.stringify(payload))]) as unknown as NodeJS.ReadStream,
      });
      const output = out.length === 0 ? undefined : (JSON.parse(out.join('\n')) as HookOutput);
      return { code, output, err: err.join('\n') };
    },
    journal: () => readStore((opened) => opened.tail(0)),
    cards: () => readStore((opened) => opened.cards()),
    clear: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Has a session be below a run, whose supervisor is this process unless said. */
export function writeRunAround(
  { store: place, folder }: HookSession,
  task: string,
  change: Partial<RunRecord> = {},
): void {
  const store = sqliteStore({ path: place.slice('sqlite:'.length) });
  const about = { task, agent: 'claude-code', session: 's-run', command: ['claude'], options: [], cwd: folder };
  writeRun(store, { ...about, state: 'running', owner: describeThisProcess(), ...change });
  store.close();
}

/** The events of a recording, in their order; its folders become this one. */
export function recorded(name: string): readonly Event[] {
  const url = new URL(`../fixtures/hooks/${name}.jsonl`, import.meta.url);
  const lines = readFileSync(url, 'utf8').trim().split('\n');
  return lines.map((line) => {
    const { cwd: _, ...event } = JSON.parse(line) as Record<string, unknown>;
    return event;
  });
}

/** A call of a shell command: proposed, and how it ended. */
export function bash(id: string, command: string, agent?: string) {
  const call = {
    permission_mode: 'default',
    tool_name: 'Bash',
    tool_input: { command },
    tool_use_id: id,
    ...(agent !== undefined && { agent_id: agent, agent_type: 'general-purpose' }),
  };
  return {
    pre: { ...call, hook_event_name: 'PreToolUse' },
    post: { ...call, hook_event_name: 'PostToolUse', tool_response: { stdout: `ran ${id}`, stderr: '' } },
    failure: { ...call, hook_event_name: 'PostToolUseFailure', error: 'Exit code 1\nFAIL sum', is_interrupt: false },
    batch: {
      hook_event_name: 'PostToolBatch',
      tool_calls: [],
      ...(agent !== undefined && { agent_id: agent, agent_type: 'general-purpose' }),
    },
  };
}

export function prompt(text: string): Event {
  return { hook_event_name: 'UserPromptSubmit', permission_mode: 'default', prompt: text };
}

export const stop: Event = { hook_event_name: 'Stop', stop_hook_active: false, background_tasks: [] };

/** The timeout of a hook as hosts set it. It counts from the start of the process, which here is that of the tests. */
function defaultTimeout(): string {
  return String(Math.ceil((performance.now() + hookTimeoutMs) / 1000));
}

/** How long a hook of a test waits for a person; the rest of a busy machine needs some of it. */
const briefWaitMs = 1_000;

/**
 * The option `--timeout` of a hook that decides soon. A timeout counts from the start of the process, here that of the
 * tests, and a part of it is left unused.
 */
export function briefTimeout(): readonly string[] {
  const untilMs = performance.now() + briefWaitMs;
  return ['--timeout', String(Math.ceil(Math.min(untilMs * 2, untilMs + hookMarginMs) / 1000))];
}
