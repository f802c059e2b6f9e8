/** A run from its first attempt to its last: after a halt somebody may have it go on, at most a few times. */

import { readerFor } from '../../agents/index.ts';
import { userName } from '../../approvers/user-name.ts';
import type { Card, CardAction } from '../../core/card.ts';
import { raisesMax } from '../../core/limits.ts';
import type { TaskOptions } from '../../guard/api.ts';
import { answerCard, retryOf } from '../../guard/extras/answer-card.ts';
import { forgetRun, keepRun, type RunRecord, runOf } from '../../supervisor/run-record.ts';
import { formatCount } from '../terminal-table.ts';
import type { RunTask } from './accounting.ts';
import { type Attempt, attempt, type End } from './attempt.ts';
import type { RunWorld } from './context.ts';
import { type Answered, whatNext } from './halt-prompt.ts';
import { type Choices, nextSteps, openHaltCard, tellHalt } from './halt-report.ts';
import { type Launched, launch, orEnd } from './launch.ts';
import { pauseRun } from './run-pause.ts';

/** Exit codes of `switchgear run` that are its own; else it ends with the code of the agent. */
const runCodes = { halted: 75, interrupted: 130, hungUp: 129, terminated: 143, readerGone: 141 } as const;

/** What is to be started: the command, and the task it runs as. */
export interface Start extends RunTask {
  readonly command: readonly string[];
  /** Where it was started already. */
  readonly launched?: Launched;
}

/** What is told to an agent that goes on with its own conversation. */
const goOn = 'Go on where you stopped.';

type Halted = Attempt & { readonly end: Extract<End, { readonly how: 'halted' }> };

/** Runs it, and gives the exit code. `fresh` is how a task begins that has no past. */
export async function runUntilOver(world: RunWorld, first: Start, fresh: TaskOptions): Promise<number> {
  const { store, options, terminal, gear } = world;
  let next: Start | number = first;
  while (typeof next !== 'number') {
    const launched: Launched = next.launched ?? (await launch(store, options, terminal, next.command, gear.session));
    const start = next;
    const done: Attempt = await orEnd(launched, () => attempt(world, launched, start));
    const { end } = done;
    if (end.how === 'halted') next = await afterHalt(world, { ...done, end }, fresh);
    else next = codeOf(world, done);
  }
  return next;
}

function codeOf({ screen, emit }: RunWorld, { end, result }: Attempt): number {
  switch (end.how) {
    case 'ended':
      if (end.code === 0 && result?.ok === false) {
        screen.say(`switchgear: the agent ended with code 0, but says that it failed: ${result.reason ?? 'no reason'}`);
      }
      if (end.leftBehind > 0)
        screen.say(`switchgear: the agent ended and left ${formatCount(end.leftBehind, 'program')} running`);
      emit('run', { type: 'run-ended', code: end.code });
      return end.code;
    case 'not-started':
      screen.say(`switchgear: ${end.message}`);
      emit('run', { type: 'run-ended', code: end.code });
      return end.code;
    case 'stopped': {
      const code = stopCodes[end.by] ?? runCodes.terminated;
      if (end.by === 'SIGPIPE') screen.say('switchgear: whoever read the output has gone, so the agent was ended');
      else screen.say(`switchgear: the agent was ended${end.ended.killed > 0 ? ' by force' : ''}`);
      emit('run', { type: 'run-ended', code, by: end.by });
      return code;
    }
    case 'halted':
      return runCodes.halted;
  }
}

const stopCodes: { readonly [signal in NodeJS.Signals]?: number } = {
  SIGINT: runCodes.interrupted,
  SIGHUP: runCodes.hungUp,
  SIGTERM: runCodes.terminated,
  SIGPIPE: runCodes.readerGone,
};

async function afterHalt(world: RunWorld, halted: Halted, fresh: TaskOptions): Promise<Start | number> {
  const { store, gear, options, screen, clock, emit } = world;
  const { record, task, end } = halted;
  const isKept = store.shared !== undefined;
  const can = choicesFor(world, halted);
  const card = openHaltCard(world, halted, can);
  const { code, counters, explanation } = end.halt;
  emit('run', { type: 'run-halted', task, code, counters, explanation, card: card?.id ?? null, ended: end.ended });
  if (card !== undefined) emit('card', { type: 'error_alert', card });
  const atTerminal = options.ask && !options.json && process.stdin.isTTY === true && process.stderr.isTTY === true;
  tellHalt(world, halted, card, isKept && !atTerminal);
  const kept: RunRecord = { ...record, state: 'waiting', ...(card && { card: card.id }) };
  keepRun(store, kept);
  const answered = await whatNext({
    store,
    clock,
    screen,
    card: card?.id,
    can,
    atTerminal,
    waitMs: isKept ? options.waitMs : 0,
    promptKept: () => runOf(store, task)?.prompt,
  });
  turnAtTerminal(world, card, answered);
  const start = startOf(answered, record, retryOf(gear, task), fresh);
  if (start !== undefined) {
    forgetRun(store, task); // The next attempt has a record of its own.
    return start;
  }
  if (answered.wish.act === 'pause') {
    const paused = pauseRun(store, kept, can);
    if (isKept) screen.say(`switchgear: paused; go on with: ${nextSteps(paused)}`);
  } else if (answered.wish.act === 'dismiss') forgetRun(store, task);
  else {
    keepRun(store, { ...kept, state: 'halted' });
    if (answered.wish.act === 'retry')
      screen.say(`switchgear: it was tried again ${raisesMax} times, which is the most`);
    else if (atTerminal && card !== undefined && isKept) screen.say(`switchgear: later: ${nextSteps(card)}`);
  }
  emit('run', { type: 'run-ended', code: runCodes.halted });
  return runCodes.halted;
}

function choicesFor({ gear }: RunWorld, { record, task }: Halted): Choices {
  return { retry: retryOf(gear, task) !== undefined, narrow: narrowed(record, '…') !== undefined };
}

/** What to start for a wish; undefined where it starts nothing. */
export function startOf(
  { wish }: Pick<Answered, 'wish'>,
  record: RunRecord,
  retry: TaskOptions | undefined,
  fresh: TaskOptions,
): Start | undefined {
  const { below } = record;
  if (wish.act === 'retry') return retry && { command: resumed(record) ?? record.command, task: retry, below };
  if (wish.act !== 'narrow') return undefined;
  const command = narrowed(record, wish.prompt);
  return command && { command, task: fresh };
}

/** The command that goes on with the agent's own conversation, where it can. */
function resumed({ command, conversation }: RunRecord): readonly string[] | undefined {
  return conversation === undefined ? undefined : readerFor(command).resume(conversation, goOn);
}

/** The command with another prompt: in the place of the one it had, or else as the next word in its conversation. */
function narrowed({ command, conversation }: RunRecord, prompt: string): readonly string[] | undefined {
  const agent = readerFor(command);
  const at = agent.prompt === undefined ? -1 : command.lastIndexOf(agent.prompt);
  if (at !== -1) return command.toSpliced(at, 1, prompt);
  return conversation === undefined ? undefined : agent.resume(conversation, prompt);
}

const actionOf: { readonly [act in Answered['wish']['act']]?: CardAction } = {
  retry: 'retry_raised',
  narrow: 'narrow_scope',
  pause: 'pause',
  dismiss: 'dismiss',
};

/** Who answers at the terminal answers the card. */
function turnAtTerminal({ gear }: RunWorld, card: Card | undefined, { wish, at }: Answered): void {
  const action = actionOf[wish.act];
  if (at === 'terminal' && card !== undefined && action !== undefined) answerCard(gear, card.id, action, userName());
}
