/** Runs all attempts of a run: after a halt a person may continue it, a bounded number of times. */

import { readerFor } from '../../agents/index.ts';
import { asSessionId } from '../../agents/reading/session-id.ts';
import { userName } from '../../approvers/user-name.ts';
import type { Card, CardAction } from '../../core/card.ts';
import { progressLengthMax, raisesMax } from '../../core/limits.ts';
import type { TaskOptions } from '../../guard/api.ts';
import { type HaltChoices, pauseRun } from '../../operator/run-follow-up.ts';
import { deleteRun, type RunRecord, readNewPrompt, writeRun } from '../../supervisor/run-record.ts';
import { exitCodes } from '../command.ts';
import { type RunTask, raiseSubagentLimits } from './accounting.ts';
import { type Attempt, type AttemptEnd, runAttempt } from './attempt.ts';
import type { RunCommandContext } from './context.ts';
import { askHowToContinue, type HaltAnswer } from './halt-prompt.ts';
import { findLimitFlag, formatNextSteps, publishHaltCard, reportHalt } from './halt-report.ts';
import { endOnError, type LaunchedRun, launch } from './launch.ts';
import { describeLeftBehind, reportLeftBehind } from './left-behind-report.ts';
import { formatSingleLine } from './screen.ts';

/** Exit codes of `switchgear run` itself; otherwise it exits with the agent's code. */
const runExitCodes = { halted: 75, interrupted: 130, hungUp: 129, terminated: 143, readerGone: 141 } as const;

/** The command to start, and the task that it runs as. */
export interface RunStart extends RunTask {
  readonly command: readonly string[];
  /** The process, if the command was started already. */
  readonly launched?: LaunchedRun;
  /** The time of the store from which orders of an operator concern the run. @default the start of the command */
  readonly orderedSinceMs?: number;
}

/** The prompt for an agent that resumes its own conversation. */
const continuePrompt = 'Go on where you stopped.';

type HaltedAttempt = Attempt & { readonly end: Extract<AttemptEnd, { readonly how: 'halted' }> };

/** Runs the attempts and returns the exit code. `fresh` starts a task without earlier counters. */
export async function runAttempts(
  context: RunCommandContext,
  first: RunStart,
  freshTask: TaskOptions,
): Promise<number> {
  let next: RunStart | number = first;
  while (typeof next !== 'number') {
    const attempt: Attempt = await runOnce(context, next);
    const { end } = attempt;
    if (end.how === 'halted') next = await handleHalt(context, { ...attempt, end }, freshTask);
    else next = reportEnd(context, attempt);
  }
  return next;
}

/** Runs one attempt, before a gateway of its own if the run has one. */
async function runOnce(context: RunCommandContext, start: RunStart): Promise<Attempt> {
  const { store, options, terminal, gear, screen } = context;
  const gateway = await context.openGateway?.(start.command);
  try {
    if (gateway?.problem !== undefined) screen.printLine(`switchgear: not through the gateway: ${gateway.problem}`);
    const { command, orderedSinceMs } = start;
    const launched =
      start.launched ?? (await launch(store, options, terminal, command, gear.session, orderedSinceMs, gateway));
    return await endOnError(launched, () => runAttempt(context, launched, start, gateway));
  } finally {
    await gateway?.close();
  }
}

function reportEnd(context: RunCommandContext, attempt: Attempt): number {
  const { screen, emit } = context;
  const { end, result } = attempt;
  switch (end.how) {
    case 'ended':
      if (end.code === 0 && result?.ok === false) {
        screen.printLine(
          `switchgear: the agent ended with code 0, but says that it failed: ${result.reason ?? 'no reason'}`,
        );
      }
      reportLeftBehind(context, attempt);
      emit('run', { type: 'run-ended', code: end.code, leftBehind: describeLeftBehind(end.leftBehind) });
      return end.code;
    case 'not-started':
      screen.printLine(`switchgear: ${end.message}`);
      emit('run', { type: 'run-ended', code: end.code });
      return end.code;
    case 'stopped': {
      const isOutputFull = end.by === 'SIGPIPE' && isWriteError(context.terminal.stopSignal?.reason);
      const code = isOutputFull ? exitCodes.error : (signalExitCodes[end.by] ?? runExitCodes.terminated);
      if (end.by !== 'SIGPIPE')
        screen.printLine(`switchgear: the agent was ended${end.ended.killed > 0 ? ' by force' : ''}`);
      else if (!isOutputFull) screen.printLine('switchgear: the reader of the output is gone, so the agent was ended');
      emit('run', { type: 'run-ended', code, by: end.by });
      return code;
    }
    case 'halted':
      return runExitCodes.halted;
  }
}

/** Whether the output could not be written for another reason than that its reader is gone. */
function isWriteError(reason: unknown): boolean {
  const { code } = (reason ?? {}) as { readonly code?: unknown };
  return typeof code === 'string' && code !== 'EPIPE';
}

const signalExitCodes: { readonly [signal in NodeJS.Signals]?: number } = {
  SIGINT: runExitCodes.interrupted,
  SIGHUP: runExitCodes.hungUp,
  SIGTERM: runExitCodes.terminated,
  SIGPIPE: runExitCodes.readerGone,
};

async function handleHalt(
  context: RunCommandContext,
  halted: HaltedAttempt,
  freshTask: TaskOptions,
): Promise<RunStart | number> {
  const { store, gear, options, screen, clock, emit } = context;
  const { record, task, end } = halted;
  const isStored = store.shared !== undefined;
  const choices = findChoices(context, halted);
  const card = publishHaltCard(context, halted, choices);
  const { code, counters, explanation } = end.halt;
  const flag = findLimitFlag(code) ?? null;
  const halt = { task, code, counters, explanation, flag, card: card?.id ?? null, ended: end.ended };
  emit('run', { type: 'run-halted', ...halt });
  if (card !== undefined) emit('card', { type: 'error_alert', card });
  const atTerminal = options.ask && !options.json && process.stdin.isTTY === true && process.stderr.isTTY === true;
  reportHalt(context, halted, card, isStored && !atTerminal);
  const waitingRecord: RunRecord = { ...record, state: 'waiting', ...(card && { card: card.id }) };
  writeRun(store, waitingRecord);
  const answer = await askHowToContinue({
    store,
    clock,
    screen,
    card: card?.id,
    choices,
    atTerminal,
    waitMs: isStored ? options.waitMs : 0,
    readPrompt: () => readNewPrompt(store, task),
  });
  answerCardFromTerminal(context, card, answer);
  // The answer may have set the raised limit of a subagent.
  const below = { ...record.below, ...raiseSubagentLimits(gear, task, end.halt) };
  const start = planNextStart(answer, { ...record, below }, gear.retryOptions(task), freshTask);
  if (start !== undefined) {
    deleteRun(store, task); // The next attempt has its own record.
    return start;
  }
  if (answer.followUp.action === 'pause') {
    const paused = pauseRun(store, waitingRecord, choices);
    if (isStored) screen.printLine(`switchgear: paused; resume with: ${formatNextSteps(paused)}`);
  } else if (answer.followUp.action === 'dismiss' || answer.followUp.action === 'replan') {
    deleteRun(store, task);
    if (answer.followUp.action === 'replan') {
      const { prompt } = answer.followUp;
      screen.printLine(
        `switchgear: handed back for a new plan${prompt ? `: ${formatSingleLine(prompt, progressLengthMax)}` : ''}`,
      );
    }
  } else {
    writeRun(store, { ...waitingRecord, state: 'halted' });
    if (answer.followUp.action === 'retry')
      screen.printLine(`switchgear: the run was retried ${raisesMax} times, which is the limit`);
    else if (atTerminal && card !== undefined && isStored)
      screen.printLine(`switchgear: later: ${formatNextSteps(card)}`);
  }
  const { action } = answer.followUp;
  emit('run', { type: 'run-ended', code: runExitCodes.halted, ...(action !== 'none' && { answer: action }) });
  return runExitCodes.halted;
}

function findChoices({ gear }: RunCommandContext, { record, task }: HaltedAttempt): HaltChoices {
  return { retry: gear.retryOptions(task) !== undefined, narrow: makeNarrowedCommand(record, '…') !== undefined };
}

/** Plans the next attempt for a follow-up; returns undefined if the follow-up starts none. */
export function planNextStart(
  { followUp }: Pick<HaltAnswer, 'followUp'>,
  record: RunRecord,
  retry: TaskOptions | undefined,
  freshTask: TaskOptions,
): RunStart | undefined {
  const { below } = record;
  if (followUp.action === 'retry')
    return retry && { command: makeResumeCommand(record) ?? record.command, task: retry, below };
  if (followUp.action !== 'narrow') return undefined;
  const command = makeNarrowedCommand(record, followUp.prompt);
  return command && { command, task: freshTask };
}

/** The command that resumes the agent's conversation, if the agent can. */
function makeResumeCommand({ command, conversation: stored }: RunRecord): readonly string[] | undefined {
  const conversation = asSessionId(stored);
  return conversation === undefined ? undefined : readerFor(command).resume(conversation, continuePrompt);
}

/** The command with another prompt: in place of the original one, or as the next prompt of its conversation. */
function makeNarrowedCommand(
  { command, conversation: stored }: RunRecord,
  prompt: string,
): readonly string[] | undefined {
  const conversation = asSessionId(stored);
  const agent = readerFor(command);
  const at = agent.prompt === undefined ? -1 : command.lastIndexOf(agent.prompt);
  if (at !== -1) return command.toSpliced(at, 1, prompt);
  return conversation === undefined ? undefined : agent.resume(conversation, prompt);
}

const cardActions: { readonly [action in HaltAnswer['followUp']['action']]?: CardAction } = {
  retry: 'retry_raised',
  narrow: 'narrow_scope',
  pause: 'pause',
  replan: 'replan',
  dismiss: 'dismiss',
};

/** Writes an answer from the terminal to the card. */
function answerCardFromTerminal(
  { gear }: RunCommandContext,
  card: Card | undefined,
  { followUp, answeredAt }: HaltAnswer,
): void {
  const action = cardActions[followUp.action];
  if (answeredAt === 'terminal' && card !== undefined && action !== undefined)
    gear.cards.answer(card.id, action, userName());
}
