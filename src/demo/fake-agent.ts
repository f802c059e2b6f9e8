/**
 * The agent of the demo: a process that prints what Claude Code prints, and does what a script says. Switchgear reads
 * it as it would read the real one; no model is asked.
 */

import { spawn } from 'node:child_process';
import { systemClock, wait } from '../platform/system-clock.ts';

/** One step of a script. */
export type Step =
  /** Words; those that cost much take longer. */
  | { readonly says: string; readonly outputTokens?: number }
  | Call
  /** Subagents that work side by side, each on its own calls. */
  | { readonly sends: readonly { readonly name: string; readonly calls: readonly Call[] }[] }
  /** Starts a program of its own, and does not end it. */
  | 'leaves a program'
  | 'is silent';

export interface Call {
  readonly call: string;
  readonly input: string;
  readonly gives?: string;
  readonly fails?: string;
}

/** Where this file is, for whoever starts it as a process. */
export const standInFile = import.meta.url;

const session_id = 'demo';
const model = 'claude-sonnet-4-5';
/** A real one thinks for seconds; nobody wants to wait for this one. */
const paceMs = 12;
const dearPaceMs = 120;

/** Plays a script to its end, which few of them reach. */
export async function playScript(steps: readonly Step[]): Promise<void> {
  let messages = 0;
  let calls = 0;
  let words = '';

  const say = (type: string, more: object) =>
    process.stdout.write(`${JSON.stringify({ type, session_id, ...more })}\n`);
  const message = (content: readonly object[], by: string | null = null, output_tokens = 10) => {
    const id = `message-${++messages}`;
    say('assistant', {
      parent_tool_use_id: by,
      message: { id, model, role: 'assistant', content, usage: { output_tokens } },
    });
  };
  const result = (tool_use_id: string, ok: boolean, content: string, by: string | null = null) => {
    const part = { type: 'tool_result', tool_use_id, content, is_error: !ok };
    say('user', { parent_tool_use_id: by, message: { role: 'user', content: [part] } });
  };
  const pause = (ms = paceMs) => wait(systemClock, ms);

  async function act({ call: name, input, gives, fails }: Call, by: string | null = null): Promise<void> {
    const id = `call-${++calls}`;
    message([{ type: 'tool_use', id, name, input: { [inputName[name] ?? 'command']: input } }], by);
    await pause();
    result(id, fails === undefined, fails ?? gives ?? '', by);
    await pause();
  }

  async function send(workers: readonly { readonly name: string; readonly calls: readonly Call[] }[]): Promise<void> {
    const errands = workers.map(({ name, calls: wanted }) => ({ id: `errand-${name}`, name, wanted }));
    const use = { type: 'tool_use', name: 'Agent' };
    message(errands.map(({ id, name }) => ({ ...use, id, input: { subagent_type: name, prompt: `Read ${name}/.` } })));
    await Promise.all(
      errands.map(async ({ id, name, wanted }) => {
        for (const each of wanted) await act(each, id);
        result(id, true, `${name}/ is read.`);
      }),
    );
  }

  say('system', { subtype: 'init', model });
  for (const step of steps) {
    if (step === 'is silent') await pause(600_000);
    else if (step === 'leaves a program') {
      spawn(process.execPath, ['-e', 'setTimeout(() => {}, 600_000)'], { detached: true, stdio: 'ignore' }).unref();
    } else if ('call' in step) await act(step);
    else if ('sends' in step) await send(step.sends);
    else {
      words = step.says;
      message([{ type: 'text', text: words }], null, step.outputTokens);
      await pause(step.outputTokens === undefined ? paceMs : dearPaceMs);
    }
  }
  say('result', { subtype: 'success', is_error: false, result: words });
}

const inputName: Readonly<Record<string, string>> = { Read: 'file_path', Edit: 'file_path' };
