/** Plays a story to `switchgear run`: the lines of Claude Code or Codex are read and booked on the task of the run. */

import type { AgentEvent, Reader } from '../../src/agents/index.ts';
import { accountEvents, claudeCodeReader, codexReader } from '../../src/agents/index.ts';
import { createSwitchgear } from '../../src/guard/create-switchgear.ts';
import { priceBook } from '../../src/prices/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';
import { codexItem } from './codex-items.ts';
import { driveStory, type PlayedAgent, type PlayedCall, type Surface } from './drive.ts';
import { type Played, type Player, type PlayOptions, Recorder } from './played.ts';
import type { Story } from './story.ts';

/** Prints a line of an agent; with an agent, one of the session file of that subagent. */
type Print = (line: object, agent?: string) => void;

interface Printed {
  readonly print: Print;
  readonly account: (event: AgentEvent) => void;
}

const model = 'claude-opus-5-5';
const session_id = '5d1dff48-474d-4fbb-82e3-ab059c9c4b97';

export const playRun: Player = (story, options) =>
  playAccounted(story, options, () => claudeCodeReader(), printClaudeCode);

export const playCodexRun: Player = (story, options) =>
  playAccounted(story, options, () => codexReader({ model: 'gpt-5.5' }), printCodex);

async function playAccounted(
  story: Story,
  options: PlayOptions,
  openReader: () => Reader,
  makeSurface: (printed: Printed) => Surface,
): Promise<Played> {
  const clock = simulatedClock();
  const record = new Recorder();
  const policy = { preset: options.preset ?? 'coding', journal: { level: 'all' } } as const;
  const place = { agent: 'agent', session: 'daily', project: 'daily', env: {}, log: 'silent' } as const;
  const gear = createSwitchgear({ ...place, clock, policy, prices: prices() });
  record.watchCards(gear);
  // No model gets the hint of a run: a person reads it in the journal.
  gear.on('loop-suspected', ({ message }) => record.hint(message));
  const task = gear.startTask({ id: 'run', parent: null });
  const accounting = accountEvents(gear, task);
  const readers = new Map<string | undefined, Reader>();
  const account = (event: AgentEvent) => void (accounting.halt ?? accounting.account(event));
  const print: Print = (line, agent) => {
    const reader = readers.get(agent) ?? openReader();
    readers.set(agent, reader);
    for (const event of reader.read(JSON.stringify(line)))
      account(agent === undefined ? event : ({ ...event, agent } as AgentEvent));
  };
  const check = () => {
    const { halt } = accounting;
    if (halt !== undefined) record.halt(halt.explanation, halt.code);
  };
  await driveStory(story, options, { clock, record, surface: { ...makeSurface({ print, account }), check } });
  accounting.end();
  gear.dispose();
  return record.played;
}

let book: ReturnType<typeof priceBook> | undefined;

function prices() {
  book ??= priceBook();
  return book;
}

function printClaudeCode({ print }: Printed): Surface {
  const callOf = new Map<string, string>();
  let messages = 0;
  let prompts = 0;
  const parentOf = (agent: string | undefined) =>
    agent === undefined ? { parent_tool_use_id: null } : { parent_tool_use_id: callOf.get(agent), agent_id: agent };
  const printAnswer = (agent: string | undefined, blocks: readonly object[]) => {
    const id = `msg_${++messages}`;
    for (const block of blocks) {
      const message = { id, type: 'message', role: 'assistant', model, content: [block], stop_reason: null };
      print({ type: 'assistant', message, ...parentOf(agent), session_id });
    }
  };
  const printUser = (agent: string | undefined, block: object, more: object = {}) =>
    print({ type: 'user', message: { role: 'user', content: [block] }, ...parentOf(agent), session_id, ...more });
  const result = (id: string, content: unknown, ok: boolean) => ({
    ...{ tool_use_id: id, type: 'tool_result', content, ...(!ok && { is_error: true }) },
  });
  return {
    prompt(text) {
      print({ type: 'system', subtype: 'init', cwd: '/workspace', session_id, tools: [], model });
      // The first prompt is on the command line, and not in the stream.
      if (++prompts > 1) printUser(undefined, { type: 'text', text });
    },
    answer({ agent, say, calls }) {
      const texts = say === undefined ? [] : [{ type: 'text', text: say }];
      printAnswer(agent, [...texts, ...calls.map(({ id, tool: name, input }) => makeToolUse(id, name, input))]);
      return calls;
    },
    callEnded: ({ agent, id, output, ok }) => printUser(agent, result(id, output, ok)),
    start(agents) {
      printAnswer(
        undefined,
        agents.map(({ id, task, type }) => makeToolUse(id, 'Agent', makeAgentInput(task, type))),
      );
      for (const { id, agent, type, task } of agents) {
        callOf.set(agent, id);
        const started = { task_id: agent, tool_use_id: id, subagent_type: type, task_type: 'local_agent' };
        print({
          type: 'system',
          subtype: 'task_started',
          ...started,
          is_backgrounded: false,
          prompt: task,
          session_id,
        });
        printUser(agent, { type: 'text', text: task });
      }
      return agents;
    },
    end({ id, agent, output, ok }) {
      const status = ok ? 'completed' : 'failed';
      printUser(undefined, result(id, [{ type: 'text', text: output }], ok), {
        tool_use_result: { status, agentId: agent },
      });
    },
    rest: () => print({ type: 'result', subtype: 'success', is_error: false, num_turns: messages, session_id }),
  };
}

function makeToolUse(id: string, name: string, input: unknown): object {
  return { type: 'tool_use', id, name, input };
}

/** The input of the call that starts a subagent. */
export function makeAgentInput(prompt: string, subagent_type: string): object {
  const description = prompt.split(/\s+/).slice(0, 4).join(' ');
  return { description, prompt, subagent_type, run_in_background: false };
}

/** The stream shows what the main agent does; the calls of subagents are in their session files. */
function printCodex({ print, account }: Printed): Surface {
  let items = 0;
  let prompts = 0;
  const started = new Map<string, object>();
  const begin = (id: string, item: object, agent?: string) => {
    const named = { id: `item_${items++}`, ...item };
    started.set(id, named);
    print({ type: 'item.started', item: { ...named, status: 'in_progress' } }, agent);
  };
  const complete = (id: string, item: object, agent?: string) => {
    print({ type: 'item.completed', item: { ...started.get(id), ...item } }, agent);
    started.delete(id);
  };
  const collab = (tool: string, agents: readonly PlayedAgent[], prompt: string | null) => ({
    ...{ type: 'collab_tool_call', tool, prompt, agents_states: {} },
    receiver_thread_ids: agents.map(({ agent }) => agent),
  });
  return {
    prompt(text) {
      if (++prompts === 1) print({ type: 'thread.started', thread_id: session_id });
      else account({ type: 'user', text, by: 'person' }); // From the session file.
      print({ type: 'turn.started' });
    },
    answer({ agent, say, calls }) {
      const message = { id: `item_${items++}`, type: 'agent_message', text: say };
      if (say !== undefined) print({ type: 'item.completed', item: message }, agent);
      for (const call of calls) begin(call.id, codexItem(call, false), agent);
      return calls;
    },
    callEnded: (call: PlayedCall) => complete(call.id, codexItem(call, true), call.agent),
    start(agents) {
      for (const each of agents) {
        begin(each.id, collab('spawn_agent', [], each.task));
        complete(each.id, { ...collab('spawn_agent', [each], each.task), status: 'completed' });
        begin(each.id, collab('wait', [each], null));
      }
      return agents;
    },
    end({ id, agent, output, ok }) {
      const agents_states = { [agent]: { status: ok ? 'completed' : 'errored', message: output } };
      complete(id, { agents_states, status: 'completed' });
    },
    rest: () => print({ type: 'turn.completed' }),
  };
}
