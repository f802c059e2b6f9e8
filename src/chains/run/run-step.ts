/** Runs one step: fills its templates, checks rules, records the start in the store, runs, and stores the result. */

import { readError } from '../../core/classify.ts';
import {
  abilityOutputBytesMax,
  reasonLengthMax,
  resultPatienceMs,
  stepChangesMax,
  stepStoreWaitMs,
  sweepMs,
} from '../../core/limits.ts';
import { refusalOf } from '../../core/refusal.ts';
import { maskSecrets } from '../../core/secret-shapes.ts';
import type { Task } from '../../guard/api.ts';
import { wait } from '../../platform/system-clock.ts';
import type { AbilityAftermath } from '../abilities/ability.ts';
import type { ChainStep } from '../file/chain.ts';
import { evaluateCondition, explainSkip } from '../file/condition.ts';
import { collectNames, fillTemplates } from '../file/template.ts';
import { checkRules } from './state/check-rules.ts';
import type { RunEnd, RunState } from './state/run-state.ts';
import { type StepLeftovers, waitForLeftovers } from './step-leftovers.ts';
import { type StopReason, stopForRefusal, stopForStore } from './stop-reason.ts';
import { makeStepEnded, writeTransitionWithin } from './storage/active-run.ts';
import { type RunContext, recordRuleChecks } from './storage/run-context.ts';
import type { RunWriteResult } from './storage/runs.ts';

/** The store did not record the start of the step, so its ability was not called; not a failure of the ability. */
class NotBegunError extends Error {
  readonly result: RunWriteResult;

  constructor(result: RunWriteResult) {
    super('the step was not begun');
    this.name = 'NotBegunError';
    this.result = result;
  }
}

/** The server or program of the step changed after its approval, so its ability was not called. */
class ChangedStepError extends Error {
  constructor(step: string) {
    super(`the step ${step} is not what was approved any more: its server or program has changed`);
    this.name = 'ChangedStepError';
  }
}

/** Whether a failure is not one of the ability. */
function isNotAbility(error: unknown): boolean {
  return error instanceof NotBegunError || error instanceof ChangedStepError;
}

/** Runs the step at an index; undefined if the run continues. */
export async function runStep(context: RunContext, at: number, task: Task): Promise<StopReason | undefined> {
  const { active, outputs } = context;
  const step = active.run.chain.steps[at]!;
  const scope = { params: active.run.params, outputs };
  let args: Readonly<Record<string, unknown>>;
  try {
    if (step.condition !== undefined && !evaluateCondition(step.condition, scope)) {
      return await skipStep(context, at, step, hideSecrets(explainSkip(step.condition, scope)));
    }
    args = fillTemplates(step.args, scope);
  } catch (error) {
    const message = `${step.id}: ${hideSecrets(readError(error).message)}${explainSkippedOutputs(active.run, step)}`;
    return { status: 'failed', end: { code: 'ability_failed', message } };
  }
  for (let changes = 0; ; ) {
    const stop = await attemptStep(context, at, step, args, task);
    if (stop === 'changed') {
      if (++changes < stepChangesMax) continue; // A person is asked again.
      const message = `${new ChangedStepError(step.id).message}, ${changes} times in a row`;
      return { status: 'failed', end: { code: 'ability_failed', message } };
    }
    if (stop !== 'paused') return stop;
    await wait(active.clock, sweepMs, active.signal); // An operator paused the task; its time limits are paused, too.
  }
}

/** The skipped steps whose outputs a step uses. */
function explainSkippedOutputs({ chain, steps }: RunState, { args, condition }: ChainStep): string {
  const roots = new Set(collectNames([args, condition?.value]).map((name) => name.split('.')[0]));
  const skipped = chain.steps.filter(({ outputKey }, at) => steps[at]?.status === 'skipped' && roots.has(outputKey));
  return skipped.map(({ id, outputKey }) => `; ${id}, which outputs ${outputKey}, was skipped`).join('');
}

async function skipStep(
  context: RunContext,
  at: number,
  step: ChainStep,
  reason: string,
): Promise<StopReason | undefined> {
  const { active } = context;
  const { by, clock, run } = active;
  const transition = { type: 'skipped', by, step: at, wallMs: clock.wallMs(), reason } as const;
  const result = await writeTransitionWithin(active, stepStoreWaitMs, transition, {
    entries: [makeStepEnded(run.id, step.id, 'skipped')],
  });
  if (result.status !== 'committed') return stopForStore(result);
  active.emit({ type: 'step-ended', run: run.id, step: active.run.steps[at]!, ability: step.ability });
  return undefined;
}

async function attemptStep(
  context: RunContext,
  at: number,
  step: ChainStep,
  args: Readonly<Record<string, unknown>>,
  task: Task,
): Promise<StopReason | 'paused' | 'changed' | undefined> {
  const { active, gear, gate, outputs, rules } = context;
  const { run, by, clock } = active;
  const ability = context.abilities.get(step.ability)!;
  const number = run.steps[at]!.attempts + 1;
  const check = checkRules(rules, run, { ability: step.ability, agent: gear.agent, args, outputs });
  recordRuleChecks(context, step.id, check);
  active.question.begin({ step: step.id, attempt: number, args, identify: () => ability.identify?.(args) });
  let hasRun = false;
  let aftermath: AbilityAftermath | undefined;
  let work: Promise<unknown> | undefined;
  const perform = async (): Promise<unknown> => {
    const { signal } = gear.currentCall()!;
    signal.throwIfAborted();
    const { approval } = active.question;
    if ((await approval?.isCurrent()) === false) throw new ChangedStepError(step.id);
    const transition = { type: 'begun', by, step: at, attempt: number, wallMs: clock.wallMs() } as const;
    const entry = {
      ...({ type: 'step-started', run: run.id, step: step.id, attempt: number } as const),
      ...(approval !== undefined && { approvedBy: approval.by }),
    };
    const begun = await writeTransitionWithin(
      active,
      stepStoreWaitMs,
      transition,
      { ...active.question.useCard(), entries: [entry] },
      signal,
    );
    if (begun.status !== 'committed') throw new NotBegunError(begun);
    active.question.forgetCard();
    signal.throwIfAborted();
    hasRun = true;
    // The store may have taken its time; from here on a change fails the step, because its start is recorded.
    if ((await approval?.isCurrent()) === false) throw new ChangedStepError(step.id);
    active.emit({ type: 'step-started', run: run.id, step: active.run.steps[at]!, ability: step.ability });
    const approvedIdentity = approval?.identity;
    return ability.run({
      name: step.ability,
      args,
      signal,
      attemptKey: `${run.id}/${step.id}`,
      afterwards: (work) => {
        aftermath = work;
      },
      ...(approvedIdentity !== undefined && { approvedIdentity }),
    });
  };
  const guarded = gate.guard(
    step.ability,
    () => {
      work = perform();
      return work;
    },
    {
      match: () => check.hits,
      breaker: { ...(ability.scope === 'shared' && { scope: 'shared' }), ...step.circuitBreaker },
      ...(step.timeoutSecs !== undefined && { timeoutSecs: step.timeoutSecs }),
      classify: (ending) => ('error' in ending && isNotAbility(ending.error) ? 'neutral' : undefined),
    },
  );
  let value: unknown;
  try {
    value = await task.run(() => guarded(args));
  } catch (error) {
    if (!hasRun) await work?.catch(() => {}); // The time is up: the ability must not be called any more.
    if (!hasRun && error instanceof ChangedStepError) return 'changed';
    const leftovers = await waitForLeftovers(context, step, number, task, aftermath);
    return handleFailure(context, at, step, number, task, error, hasRun, leftovers);
  }
  const refusal = refusalOf(value);
  if (refusal === undefined) {
    const leftovers = await waitForLeftovers(context, step, number, task, aftermath);
    return saveResult(context, at, step, number, value, leftovers);
  }
  if (refusal.code === 'task_paused') {
    active.emit({ type: 'step-held', run: run.id, step: step.id, reason: refusal.explanation });
    return 'paused';
  }
  return active.question.isParked ? 'parked' : stopForRefusal(active, refusal, check);
}

async function handleFailure(
  context: RunContext,
  at: number,
  step: ChainStep,
  number: number,
  task: Task,
  error: unknown,
  hasRun: boolean,
  leftovers: StepLeftovers,
): Promise<StopReason> {
  const { active } = context;
  if (active.lost) return 'lost';
  const refusal = task.halt ?? refusalOf(error);
  if (refusal !== undefined) return stopForRefusal(active, refusal, context.lastCheck);
  if (error instanceof NotBegunError) return stopForStore(error.result);
  const { names, message } = readError(error);
  const text = `${step.id}: ${names[0] ?? 'Error'}: ${hideSecrets(message)}`.slice(0, reasonLengthMax);
  const end: RunEnd = { code: 'ability_failed', message: text };
  return hasRun ? recordFailure(context, at, step, number, end, leftovers) : { status: 'failed', end };
}

/** The reason of an end is stored with the run, and may quote what a tool answered. */
function hideSecrets(text: string): string {
  return maskSecrets(text, (kind) => `[hidden: ${kind}]`);
}

/** Records that a step ran and failed, which is a known outcome, not an outcome in doubt. */
async function recordFailure(
  context: RunContext,
  at: number,
  step: ChainStep,
  number: number,
  end: RunEnd,
  { leftBehind, card, entries: cardEntries }: StepLeftovers,
): Promise<StopReason> {
  const { active } = context;
  const { by, clock, run } = active;
  const wallMs = clock.wallMs();
  const transition = { type: 'failed', by, step: at, attempt: number, wallMs, end, ...leftBehind } as const;
  const entries = [
    ...cardEntries,
    makeStepEnded(run.id, step.id, 'failed'),
    { type: 'run-ended', run: run.id, chain: run.chain.id, status: 'failed', code: end.code } as const,
  ];
  const result = await writeTransitionWithin(active, resultPatienceMs, transition, { ...card, entries }, active.signal);
  if (result.status === 'committed') {
    active.emit({ type: 'step-ended', run: run.id, step: active.run.steps[at]!, ability: step.ability });
  }
  return { status: 'failed', end };
}

async function saveResult(
  context: RunContext,
  at: number,
  step: ChainStep,
  number: number,
  value: unknown,
  leftovers: StepLeftovers,
): Promise<StopReason | undefined> {
  const { active, outputs } = context;
  const { by, clock, run } = active;
  const text = toJson(value);
  const outputBytes = Buffer.byteLength(text ?? '');
  if (text === undefined || outputBytes > abilityOutputBytesMax) {
    const what =
      text === undefined ? 'is not plain JSON data' : `has ${outputBytes} bytes, at most ${abilityOutputBytesMax}`;
    const end = { code: 'ability_failed', message: `${step.id}: its output ${what}` } as const;
    return recordFailure(context, at, step, number, end, leftovers);
  }
  const wallMs = clock.wallMs();
  const { leftBehind, card, entries: cardEntries } = leftovers;
  const ending = { type: 'finished', by, step: at, attempt: number, wallMs, outputBytes } as const;
  const transition = { ...ending, ...leftBehind };
  const entries = [...cardEntries, makeStepEnded(run.id, step.id, 'done')];
  const extras = { ...card, output: { step: at, text }, entries };
  const result = await writeTransitionWithin(active, resultPatienceMs, transition, extras, active.signal);
  if (result.status !== 'committed') return stopForStore(result);
  if (step.outputKey !== undefined) outputs[step.outputKey] = JSON.parse(text) as unknown; // As a resume reads it.
  active.emit({ type: 'step-ended', run: run.id, step: active.run.steps[at]!, ability: step.ability });
  return active.run.owner?.process === by ? undefined : 'lost';
}

function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value ?? null);
  } catch {
    return undefined;
  }
}
