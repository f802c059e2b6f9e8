/**
 * The command `switchgear hook HOST`: reads one event of an agent CLI on stdin and prints the answer. It loads the
 * engine only if the event needs a decision.
 */

import { textOf } from '../../core/foreign-text.ts';
import { hookMarginMs, hookTimeoutMs } from '../../core/limits.ts';
import type { HookAnswer, HookDecision, HookEvent } from '../../hooks/hosts/hook-event.ts';
import { findHost, hosts } from '../../hooks/hosts/index.ts';
import { type Command, exitCodes, readArgs, type Terminal, usageError, verbError } from '../command.ts';
import { endStuckProcess, readPayload } from './read-payload.ts';

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
    const read = await readPayload(terminal, deadlineOf(parsedArgs.values.get('--timeout')));
    if ('problem' in read) {
      terminal.err(`switchgear: hook: ${read.problem}`);
      // Only before a call: at the end of a turn the host would read 2 as a request to continue.
      const code = read.isBeforeCall ? blockingCode : exitCodes.error;
      if (read.isStuck) endStuckProcess(code);
      return code;
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
    return printAnswer(event, host.answer(event, decision), terminal);
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

/** Prints the answer. If it cannot be written, a call is blocked by the exit code alone. */
function printAnswer(event: HookEvent, { stdout, stderr, code }: HookAnswer, terminal: Terminal): number {
  if (stderr !== undefined) terminal.err(stderr);
  if (stdout === undefined) return code;
  try {
    terminal.out(JSON.stringify(stdout));
    return code;
  } catch (error) {
    terminal.err(`switchgear: hook: the answer could not be written: ${textOf(error)}`);
    return event.type === 'call-proposed' ? blockingCode : exitCodes.error;
  }
}

/** When the hook answers without its input, in process time; a wrong timeout is reported with the decision. */
function deadlineOf(text: string | undefined): number {
  const secs = Number(text);
  const timeoutMs = secs >= 1 && secs <= 3_600 ? secs * 1_000 : hookTimeoutMs;
  return Math.max(timeoutMs / 2, timeoutMs - hookMarginMs);
}

function parseTimeout(text: string | undefined): number {
  if (text === undefined) return hookTimeoutMs;
  const secs = Number(text);
  if (!(secs >= 1 && secs <= 3_600)) throw usageError(`--timeout must be seconds from 1 to 3600, got ${text}`);
  return secs * 1000;
}
