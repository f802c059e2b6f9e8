/**
 * An agent that follows a script, in the manner of a real program: `node fake-agent.ts CLI ARGUMENTS…`. Its prompt is
 * what it does: `spiral`, `calls 60`, `healthy`, `silent`, `spend 5`, `leave`, in a row with commas. FAKE_LOG gets its
 * arguments. FAKE_HOOKS is a command with hooks, which it asks as Claude Code does; `heed` is a spiral that ends when
 * a call was refused. `below 60` are calls of a subagent. FAKE_RESUMED is what it does when it goes on.
 */

import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const [cli = '', ...args] = process.argv.slice(2);
if (process.env.FAKE_LOG) appendFileSync(process.env.FAKE_LOG, `${JSON.stringify(args)}\n`);

const script = args.find((word) => /^(spiral|heed|below|calls|healthy|silent|spend|leave|Go on)/.test(word)) ?? '';
const isAsked = args.some((word) => ['stream-json', '--json', 'json'].includes(word));
const isResumed = args.includes('--resume') || args.includes('resume');
const session = isResumed ? 'resumed-session' : 'session-1';
const print = (event: object) => (isAsked ? process.stdout.write(`${JSON.stringify(event)}\n`) : true);
let calls = 0;

interface Voice {
  begin(): void;
  call(name: string, command: string): void;
  returned(ok: boolean, output: string): void;
  /** What a model call used, in dollars at three per million. */
  spent(inputTokens: number): void;
  answer(text: string): void;
}

const idOf = () => `call-${session}-${calls}`;
const model = 'claude-sonnet-4-5';

/** Whose lines come: those of the main agent, or of a subagent that a call sent. */
let whose: object = { parent_tool_use_id: null };

const claude: Voice = {
  begin: () => print({ type: 'system', subtype: 'init', session_id: session, model }),
  call: (name, command) => message([{ type: 'tool_use', id: idOf(), name, input: { command } }]),
  returned: (ok, output) =>
    print({
      type: 'user',
      session_id: session,
      ...whose,
      message: {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: idOf(), content: output, is_error: !ok }],
      },
    }),
  spent: (inputTokens) => message([{ type: 'text', text: `used ${++calls}` }], inputTokens),
  answer(text) {
    message([{ type: 'text', text }]);
    print({ type: 'result', subtype: 'success', is_error: false, result: text, session_id: session });
  },
};

function message(content: readonly object[], inputTokens = 10): void {
  print({
    type: 'assistant',
    session_id: session,
    ...whose,
    message: { id: `msg-${session}-${calls}`, model, role: 'assistant', content, usage: { input_tokens: inputTokens } },
  });
}

const item = (type: 'item.started' | 'item.completed', more: object) => {
  print({ type, item: { id: idOf(), type: 'command_execution', aggregated_output: '', ...more } });
};
let command = '';

const codex: Voice = {
  begin: () => print({ type: 'thread.started', thread_id: session }),
  call(_, shellCommand) {
    command = shellCommand;
    item('item.started', { command, status: 'in_progress' });
  },
  returned: (ok, output) =>
    item('item.completed', {
      command,
      aggregated_output: output,
      exit_code: ok ? 0 : 1,
      status: ok ? 'completed' : 'failed',
    }),
  spent: () => undefined,
  answer: (text) => print({ type: 'item.completed', item: { id: 'last', type: 'agent_message', text } }),
};

const gemini: Voice = {
  begin: () => print({ type: 'init', session_id: session, model: 'gemini-3.1-pro-preview' }),
  call: (name, shellCommand) =>
    print({ type: 'tool_use', tool_name: `run_${name}`, tool_id: idOf(), parameters: { command: shellCommand } }),
  returned: (_, output) => print({ type: 'tool_result', tool_id: idOf(), status: 'success', output }),
  spent: () => undefined,
  answer(text) {
    print({ type: 'message', role: 'assistant', content: text, delta: true });
    print({ type: 'result', status: 'success', stats: {} });
  },
};

const step = (part: object, type: string) => print({ type, sessionID: session, part: { sessionID: session, ...part } });

const opencode: Voice = {
  begin: () => undefined,
  call(_, shellCommand) {
    command = shellCommand;
    step({ type: 'step-start' }, 'step_start');
  },
  returned(ok, output) {
    const state = { status: 'completed', input: { command }, output, metadata: { exit: ok ? 0 : 1 } };
    step({ type: 'tool', tool: 'bash', callID: idOf(), state }, 'tool_use');
    step({ type: 'step-finish', id: `step-${calls}`, tokens: { input: 10, output: 1 }, cost: 0.001 }, 'step_finish');
  },
  spent: () => undefined,
  answer: (text) => step({ type: 'text', text }, 'text'),
};

const voice = { claude, codex, gemini, opencode }[cli] ?? claude;

interface HookOutput {
  readonly continue?: boolean;
  readonly hookSpecificOutput?: { readonly permissionDecisionReason?: string };
}

function ask(hook_event_name: string, more: object): HookOutput | undefined {
  const { FAKE_HOOKS: command } = process.env;
  if (command === undefined) return undefined;
  const input = JSON.stringify({ session_id: session, cwd: process.cwd(), hook_event_name, ...more });
  const { stdout } = spawnSync(process.execPath, [command, 'hook', 'claude-code'], { input, encoding: 'utf8' });
  return stdout === '' ? undefined : (JSON.parse(stdout) as HookOutput);
}

/** A call. Whether it ran: where it was refused, its result says so. */
async function act(name: string, shellCommand: string, ok: boolean, output: string): Promise<boolean> {
  calls++;
  voice.call(name, shellCommand);
  await sleep(5);
  const call = { tool_name: name, tool_input: { command: shellCommand }, tool_use_id: idOf() };
  const refused = ask('PreToolUse', call);
  if (refused === undefined) {
    ask(ok ? 'PostToolUse' : 'PostToolUseFailure', { ...call, error: output, tool_response: output });
    voice.returned(ok, output);
  } else voice.returned(false, refused.hookSpecificOutput?.permissionDecisionReason ?? '');
  ask('PostToolBatch', {});
  await sleep(5);
  if (refused?.continue === false) process.exit(0);
  return refused === undefined;
}

async function play(scene: string): Promise<void> {
  const [name = '', many = ''] = scene.trim().split(' ');
  switch (name) {
    case 'spiral':
      for (let round = 0; round < 200; round++) await act('Bash', 'cat missing.yaml', false, 'cat: no such file');
      break;
    case 'below': {
      calls++;
      const [id, call] = [`agent-${session}`, idOf()];
      message([{ type: 'tool_use', id: call, name: 'Agent', input: { subagent_type: 'Explore', prompt: 'look' } }]);
      print({ type: 'system', subtype: 'task_started', task_id: id, tool_use_id: call, subagent_type: 'Explore' });
      whose = { parent_tool_use_id: call, agent_id: id };
      await play(`calls ${many}`);
      whose = { parent_tool_use_id: null };
      break;
    }
    case 'heed':
      while (await act('Bash', 'cat missing.yaml', false, 'cat: no such file'));
      break;
    case 'calls':
      for (let round = 1; round <= Number(many); round++)
        await act('Read', `page-${round}.md`, true, `page ${round * 7919}`);
      break;
    case 'healthy':
      for (const file of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])
        await act('Read', `${file}.ts`, true, `file ${file}`);
      break;
    case 'spend':
      for (let round = 0; round < 40; round++) {
        voice.spent(Number(many) * 333_334);
        await sleep(20);
      }
      break;
    case 'silent':
      await sleep(600_000);
      break;
    case 'leave':
      spawn('sleep', ['600'], { detached: true, stdio: 'ignore' }).unref();
      break;
  }
}

process.on('SIGINT', () => {
  calls++; // A model call of its own: under the id of the last one it would be counted once with it.
  if (cli === 'claude') message([{ type: 'text', text: 'interrupted' }], 333_334);
  process.exit(cli === 'claude' ? 0 : 1);
});
voice.begin();
for (const scene of (isResumed ? (process.env.FAKE_RESUMED ?? 'healthy') : script).split(',')) await play(scene);
const text = `done after ${calls} calls`;
if (isAsked) voice.answer(text);
else process.stdout.write(`${text}\n`);
