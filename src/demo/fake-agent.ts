/**
 * The agent of the demo: a process that follows a script and prints the events of Claude Code. It calls no model.
 */

import { spawn } from 'node:child_process';
import { systemClock, wait } from '../platform/system-clock.ts';

/** One step of a script. */
export type FakeAgentStep =
  /** A text; a more expensive one takes longer. */
  | { readonly says: string; readonly outputTokens?: number }
  | FakeAgentCall
  /** Parallel subagents, each with its own calls. */
  | { readonly sends: readonly { readonly name: string; readonly calls: readonly FakeAgentCall[] }[] }
  /** Starts a program and leaves it running. */
  | 'leaves a program'
  | 'is silent';

export interface FakeAgentCall {
  readonly call: string;
  readonly input: string;
  readonly gives?: string;
  readonly fails?: string;
}

/** The path of this file, to start it as a process. */
export const fakeAgentFile = import.meta.url;

const session_id = 'demo';
const model = 'claude-sonnet-4-5';
/** The time between two steps, much shorter than that of a real agent. */
const defaultPaceMs = 12;
const slowPaceMs = 120;

/** Plays a script; most scripts are stopped before their end. */
export async function playScript(steps: readonly FakeAgentStep[], paceMs = defaultPaceMs): Promise<void> {
  let messages = 0;
  let calls = 0;
  let lastText = '';

  const printEvent = (type: string, more: object) =>
    process.stdout.write(`${JSON.stringify({ type, session_id, ...more })}\n`);
  const message = (content: readonly object[], parentId: string | null = null, output_tokens = 10) => {
    const id = `message-${++messages}`;
    printEvent('assistant', {
      parent_tool_use_id: parentId,
      message: { id, model, role: 'assistant', content, usage: { output_tokens } },
    });
  };
  const result = (tool_use_id: string, ok: boolean, content: string, parentId: string | null = null) => {
    const part = { type: 'tool_result', tool_use_id, content, is_error: !ok };
    printEvent('user', { parent_tool_use_id: parentId, message: { role: 'user', content: [part] } });
  };
  const pause = (ms = paceMs) => wait(systemClock, ms);

  async function makeCall(
    { call: name, input, gives, fails }: FakeAgentCall,
    parentId: string | null = null,
  ): Promise<void> {
    const id = `call-${++calls}`;
    message([{ type: 'tool_use', id, name, input: { [inputName[name] ?? 'command']: input } }], parentId);
    await pause();
    result(id, fails === undefined, fails ?? gives ?? '', parentId);
    await pause();
  }

  async function runSubagents(
    workers: readonly { readonly name: string; readonly calls: readonly FakeAgentCall[] }[],
  ): Promise<void> {
    const delegations = workers.map(({ name, calls: subagentCalls }) => ({
      id: `errand-${name}`,
      name,
      wanted: subagentCalls,
    }));
    const use = { type: 'tool_use', name: 'Agent' };
    message(
      delegations.map(({ id, name }) => ({ ...use, id, input: { subagent_type: name, prompt: `Read ${name}/.` } })),
    );
    await Promise.all(
      delegations.map(async ({ id, name, wanted: subagentCalls }) => {
        for (const each of subagentCalls) await makeCall(each, id);
        result(id, true, `${name}/ is read.`);
      }),
    );
  }

  printEvent('system', { subtype: 'init', model });
  for (const step of steps) {
    if (step === 'is silent') await pause(600_000);
    else if (step === 'leaves a program') {
      spawn(process.execPath, ['-e', 'setTimeout(() => {}, 600_000)'], { detached: true, stdio: 'ignore' }).unref();
    } else if ('call' in step) await makeCall(step);
    else if ('sends' in step) await runSubagents(step.sends);
    else {
      lastText = step.says;
      message([{ type: 'text', text: lastText }], null, step.outputTokens);
      await pause(step.outputTokens === undefined ? paceMs : slowPaceMs);
    }
  }
  printEvent('result', { subtype: 'success', is_error: false, result: lastText });
}

const inputName: Readonly<Record<string, string>> = { Read: 'file_path', Edit: 'file_path' };
