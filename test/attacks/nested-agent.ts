/**
 * An agent that starts agents, in the manner of Claude Code, Gemini CLI or Codex with hooks:
 * `node nested-agent.ts HOST …`. The prompt is its script: `calls N` asks the hook N times, `spend N` reports N model
 * calls of 4 million tokens, at depth 0 in the stream, else in the session file, and `start N COMMAND` starts a command
 * N times, `parallel` at once.
 */

import { spawn, spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

const [host = '', ...words] = process.argv.slice(2);
const script = words.find((word) => /^(calls|spend|start|parallel)/.test(word)) ?? '';
const depth = Number(process.env.NESTED_DEPTH ?? 0);
const session = depth === 0 ? `main-${process.pid}` : `nested-${process.pid}`;
const folder = join(process.env.HOME ?? '', 'transcripts');
mkdirSync(folder, { recursive: true });
const transcript = join(folder, `${session}.jsonl`);
const print = (event: object) => process.stdout.write(`${JSON.stringify(event)}\n`);
let count = 0;

/** Asks the hook as the host does; returns whether the call may run. */
function ask(tool: string, input: object): boolean {
  if (depth === 0) return true;
  const id = `call-${session}-${++count}`;
  const names = host === 'gemini' ? 'BeforeTool' : 'PreToolUse';
  const payload = {
    hook_event_name: names,
    session_id: session,
    transcript_path: transcript,
    cwd: process.cwd(),
    tool_name: tool,
    tool_input: input,
    ...(host !== 'gemini' && { tool_use_id: id }),
  };
  const hook = host === 'claude' ? 'claude-code' : host;
  const { stdout, status } = spawnSync(process.execPath, [process.env.SWITCHGEAR_BIN ?? '', 'hook', hook], {
    input: JSON.stringify(payload),
    encoding: 'utf8',
  });
  return status === 0 && !/deny|"continue":false/.test(stdout);
}

/** Writes one model call (24 dollars for Claude, 5 for Codex, 10 for Gemini), as the host's session files have it. */
function spend(): void {
  const id = `msg-${session}-${++count}`;
  const usage = { input_tokens: 4_000_000, output_tokens: 0 };
  const lines = {
    claude: [{ type: 'assistant', message: { id, model: 'claude-sonnet-4-5', content: [], usage } }],
    gemini: [{ id, type: 'gemini', model: 'gemini-2.5-pro', tokens: { input: 4_000_000, output: 0 } }],
    codex: [
      { type: 'session_meta', payload: { id: session } },
      { type: 'turn_context', payload: { model: 'gpt-5' } },
      { type: 'token_usage_record', payload: { response_id: id, usage } },
    ],
  }[host];
  for (const line of lines ?? []) {
    if (depth === 0) print({ ...line, session_id: session });
    else appendFileSync(transcript, `${JSON.stringify(line)}\n`);
  }
}

if (depth === 0) print({ type: 'system', subtype: 'init', session_id: session, model: 'claude-sonnet-4-5' });
for (const part of script.split(';')) {
  const [verb, times = '1', ...rest] = part.trim().split(' ');
  const commands: Promise<void>[] = [];
  for (let n = 0; n < Number(times); n++) {
    if (verb === 'calls' && !ask('Bash', { command: `look ${n} ${process.pid}` })) process.exit(1);
    if (verb === 'spend') spend();
    if (verb !== 'start' && verb !== 'parallel') continue;
    const [command = '', ...args] = rest.join(' ').split(' | ');
    const env = { ...process.env, NESTED_DEPTH: String(depth + 1) };
    const child = spawn(
      command,
      args.map((each) => each.replaceAll('+', ' ').replaceAll(',', ';').replaceAll('^', ',')),
      { env, stdio: ['ignore', 'ignore', 'inherit'] },
    );
    const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
    if (verb === 'start') await ended;
    else commands.push(ended);
  }
  await Promise.all(commands);
}
if (depth === 0) print({ type: 'result', subtype: 'success', is_error: false, result: 'done', session_id: session });
