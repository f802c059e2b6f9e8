/**
 * Books nested agents on a run: agents that the agent of the run started. Their hooks report each session and its
 * calls, and a nested `switchgear run` its totals; the run reads the usage from the session files.
 */

import { createUsageLedger, type UsageLedger } from '../../agents/accounting/usage-ledger.ts';
import { claudeSessionReader } from '../../agents/claude-code/session-file.ts';
import { codexSessionReader } from '../../agents/codex/session-file.ts';
import { geminiSessionReader } from '../../agents/gemini/session-file.ts';
import { type FileTail, fileTail } from '../../agents/reading/file-tail.ts';
import type { Reader } from '../../agents/reading/reader.ts';
import { secsMax } from '../../core/limits.ts';
import type { Switchgear, Task } from '../../guard/api.ts';
import { entryPlace, halt, priceUsage, runtimeOf, type TaskStart } from '../../guard/internal.ts';
import type { NestedAgent } from '../../supervisor/hook-mailbox.ts';
import { bookLibraryNews, type LibraryNews } from './library-calls.ts';

/** What the run knows of a nested agent. */
interface BookedAgent {
  readonly tails: Map<string, FileTail>;
  readonly ledger: UsageLedger;
  readonly charges: { readonly costUsd: number; readonly tokens: number; readonly model?: string }[];
  calls: number;
  micros: number;
  tokens: number;
}

export interface NestedAgents {
  /** Books what nested agents did since the last poll on child tasks of `root`. */
  poll(reports: Readonly<Record<string, NestedAgent>>, root: Task): void;
  /** Books the guarded calls of library programs on a child task of `root`. */
  bookLibrary(news: LibraryNews, root: Task): void;
}

const readers: Readonly<Record<string, () => Reader>> = {
  'claude-code': () => claudeSessionReader({ besideStream: true }),
  codex: () => codexSessionReader(),
  gemini: () => geminiSessionReader(),
};

/** What the run knows of its agents. */
interface RunKnowledge {
  /** Whether a session is one of the run's own agent. */
  isOwn(session: string, agent: NestedAgent): boolean;
  /** Whether a gateway meters the model calls of nested agents, too. */
  isMetered(): boolean;
}

export function bookNestedAgents(gear: Switchgear, { isOwn, isMetered }: RunKnowledge): NestedAgents {
  const runtime = runtimeOf(gear);
  const booked = new Map<string, BookedAgent>();
  let started = 0;

  function openAgent(session: string, root: Task): BookedAgent {
    let agent = booked.get(session);
    if (agent === undefined) {
      const node = runtime.tasks.get(root.id);
      const place = node === undefined ? {} : entryPlace(node);
      const ledger = createUsageLedger((usage) => priceUsage(runtime, usage, place).micros);
      agent = { tails: new Map(), ledger, charges: [], calls: 0, micros: 0, tokens: 0 };
      booked.set(session, agent);
    }
    return agent;
  }

  /** Reads new usage of the agent's session files. */
  function readFiles(agent: BookedAgent, { host, files = {} }: NestedAgent): void {
    for (const [path, from] of Object.entries(files)) {
      if (!agent.tails.has(path)) {
        const reader = readers[host]?.();
        if (reader === undefined) continue;
        const onLine = (line: string) => {
          for (const event of reader.read(line)) {
            const charge = event.type === 'usage' ? agent.ledger.countCall(event) : undefined;
            if (charge === undefined) continue;
            const { micros, inputTokens, outputTokens, model } = charge;
            agent.charges.push({
              costUsd: Math.max(0, micros - 0.5) / 1_000_000,
              tokens: inputTokens + outputTokens,
              ...(model !== undefined && { model }),
            });
          }
        };
        agent.tails.set(path, fileTail(path, onLine, { from }));
      }
      agent.tails.get(path)?.poll();
    }
  }

  /** Books on a child task, which ends at once: nobody tells when a nested agent has ended. */
  function bookNews(agent: BookedAgent, { host, calls, micros = 0, tokens = 0 }: NestedAgent, root: Task): void {
    const newCalls = calls - agent.calls;
    const charges = agent.charges.splice(0);
    if (micros > agent.micros || tokens > agent.tokens)
      charges.push({ costUsd: Math.max(0, micros - agent.micros - 0.5) / 1_000_000, tokens: tokens - agent.tokens });
    Object.assign(agent, { calls, micros, tokens });
    if (isMetered()) charges.length = 0;
    if (newCalls <= 0 && charges.length === 0) return;
    bookOnChild(host, root, (child) => {
      for (let n = 0; n < newCalls && child.halt === undefined; n++)
        child.observe({ type: 'tool_use', name: 'nested call' });
      for (const { tokens: inputTokens, ...usage } of charges)
        child.observe({ type: 'usage', ...usage, inputTokens, outputTokens: 0 });
    });
  }

  function bookOnChild(host: string, root: Task, book: (child: Task) => void): void {
    const options: TaskStart = {
      id: `${root.id.slice(0, 100)}/nested-${++started}`,
      agent: host,
      parent: root.id,
      session: root.session,
      delegated: true,
      limits: { maxIdleSecs: secsMax, maxDurationSecs: secsMax },
    };
    const child = gear.startTask(options);
    book(child);
    const node = runtime.tasks.get(child.id);
    if (node?.haltStop !== undefined && root.halt === undefined)
      halt(runtime, node, { ...node.haltStop, ends: 'root' }, host, runtime.clock.nowMs());
    child.end(child.halt === undefined ? 'done' : 'error');
  }

  return {
    bookLibrary: (news, root) => bookOnChild('library', root, (child) => bookLibraryNews(child, news)),
    poll(reports, root) {
      for (const [session, report] of Object.entries(reports)) {
        if (root.halt !== undefined) return;
        if (isOwn(session, report)) continue;
        const agent = openAgent(session, root);
        readFiles(agent, report);
        bookNews(agent, report, root);
      }
    },
  };
}
