/**
 * The command `switchgear hook HOST`: reads one event of an agent CLI on stdin and prints the answer. It loads the
 * engine only if the event needs a decision.
 */

import { readSync } from 'node:fs';
import { textOf } from '../../core/foreign-text.ts';
import { hookMarginMs, hookPayloadBytesMax, hookTimeoutMs } from '../../core/limits.ts';
import type { HookAnswer, HookDecision, HookEvent, Payload } from '../../hooks/hosts/hook-event.ts';
import { findHost, hosts } from '../../hooks/hosts/index.ts';
import { type Command, exitCodes, readArgs, type Terminal, usageError, verbError } from '../command.ts';

export const command: Command = {
  usage: ['hook claude-code|codex|gemini    answer one hook event on stdin; init writes the settings that call it'],
  details: [
    '',
    '  --timeout 60     timeout of the host in seconds; the hook answers 5 s earlier',
    '  --policy FILE    the policy; the default is that of the project folder',
    '  --store STORE    the store; see switchgear --help',
    '',
    'The hook prints one JSON object or nothing. Exit codes: 0, or 2 if the host must block the event.',
  ],
  async run(args, terminal) {
    const parsedArgs = readArgs(args, [], 1, ['--timeout', '--policy', '--store']);
    const host = findHost(parsedArgs.positionals[0]);
    if (host === undefined) throw verbError('hook', Object.keys(hosts), parsedArgs.positionals[0]);
    const read = await readPayload(terminal);
    if ('problem' in read) {
      terminal.err(`switchgear: hook: ${read.problem}`);
      // Only before a call: at the end of a turn the host would read 2 as a request to continue.
      return read.isBeforeCall ? blockingCode : exitCodes.error;
    }
    const { payload } = read;
    const event = host.read(payload);
    if (event.type === 'other' || event.type === 'session-started') return exitCodes.ok;
    const decision = await decideOrDeny(event, terminal, async () => {
      const timeoutMs = parseTimeout(parsedArgs.values.get('--timeout'));
      const { runHook } = await import('./run-hook.ts');
      const untilMs = Math.max(timeoutMs / 2, timeoutMs - hookMarginMs);
      const decision = runHook({ host, payload, event, parsedArgs, terminal, untilMs });
      return endInTime(decision, (untilMs + timeoutMs) / 2);
    });
    return printAnswer(host.answer(event, decision), terminal);
  },
};

/** The exit code with which a host blocks an event. */
const blockingCode = 2;

/** Rejects when the decision takes longer than the time since the start of this process allows. */
async function endInTime(decision: Promise<HookDecision>, dueMs: number): Promise<HookDecision> {
  const { systemClock } = await import('../../platform/system-clock.ts');
  decision.catch(() => undefined); // The timer may have been faster.
  return new Promise((resolve, reject) => {
    const late = () => reject(new Error(`no decision within ${Math.round(dueMs / 1000)} s`));
    const cancel = systemClock.after(dueMs - systemClock.nowMs(), late, true);
    decision.then(resolve, reject).finally(cancel);
  });
}

/** If the decision fails, a tool call is refused and every other event passes. */
async function decideOrDeny(
  event: HookEvent,
  terminal: Terminal,
  decide: () => Promise<HookDecision>,
): Promise<HookDecision> {
  try {
    return await decide();
  } catch (error) {
    if (event.type !== 'call-proposed') return { kind: 'pass' };
    // The model gets no details: it must not learn what to break, or how hooks are removed.
    terminal.err(`switchgear: hook: ${error instanceof Error ? error.message : textOf(error)}`);
    return { kind: 'deny', reason: undecidedReason };
  }
}

/** The reason for the model if the hook fails. */
const undecidedReason =
  'Switchgear could not decide on this call, so the call was not made. Ask the person you work for to look into it.';

function printAnswer({ stdout, stderr, code }: HookAnswer, terminal: Terminal): number {
  if (stdout !== undefined) terminal.out(JSON.stringify(stdout));
  if (stderr !== undefined) terminal.err(stderr);
  return code;
}

function parseTimeout(text: string | undefined): number {
  if (text === undefined) return hookTimeoutMs;
  const secs = Number(text);
  if (!(secs >= 1 && secs <= 3_600)) throw usageError(`--timeout must be seconds from 1 to 3600, got ${text}`);
  return secs * 1000;
}

/** Characters of a payload in which the name of its event is searched if the payload cannot be used. */
const payloadHeadLength = 65_536;

/** The payload, or why it cannot be used and whether its event comes before a call. */
type PayloadRead = { readonly payload: Payload } | { readonly problem: string; readonly isBeforeCall: boolean };

/** Matches the name of the event before a call; hosts write it before the input of the call. */
const beforeCall = /"hook_event_name"\s*:\s*"(?:PreToolUse|BeforeTool)"/;

/** Reads the payload of the hook, up to the size limit. */
async function readPayload({ input }: Terminal): Promise<PayloadRead> {
  const parts: Buffer[] = [];
  const isComplete = input === undefined && readStdinSync(parts);
  let bytes = parts.reduce((sum, { length }) => sum + length, 0);
  for await (const part of isComplete ? [] : (input ?? process.stdin)) {
    parts.push(Buffer.from(part as Buffer));
    bytes += parts.at(-1)!.length;
    if (bytes > hookPayloadBytesMax) break;
  }
  const text = Buffer.concat(parts).toString('utf8');
  const isBeforeCall = beforeCall.test(text.slice(0, payloadHeadLength));
  if (bytes > hookPayloadBytesMax) return { problem: 'the input on stdin is too long', isBeforeCall };
  try {
    const payload: unknown = JSON.parse(text);
    if (typeof payload === 'object' && payload !== null && !Array.isArray(payload))
      return { payload: payload as Payload };
  } catch {
    // Invalid JSON and JSON that is not an object get the same message below.
  }
  return { problem: `stdin must be one JSON object, got ${JSON.stringify(text.slice(0, 60))}`, isBeforeCall };
}

/** Reads stdin synchronously, without a stream, up to the size limit. Returns false if stdin is not ready. */
function readStdinSync(parts: Buffer[]): boolean {
  try {
    for (let read = 0; read <= hookPayloadBytesMax; ) {
      const part = Buffer.alloc(65_536);
      const bytes = readSync(0, part);
      if (bytes === 0) return true;
      parts.push(part.subarray(0, bytes));
      read += bytes;
    }
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EOF') return true;
    if (code === 'EAGAIN') return false;
    throw error;
  }
}
