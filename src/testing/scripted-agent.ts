/** An agent that follows a script instead of a model, and records a transcript. */

import { isRefused, type Refusal, refusalOf } from '../core/refusal.ts';
import type { AnyFunction, Task } from '../guard/api.ts';
import type { Usage } from '../ports/prices.ts';
import type { SimulatedClock } from './simulated-clock.ts';

/** One step of the script. */
export type ScriptStep =
  | { readonly tool: string; readonly args?: readonly unknown[]; readonly times?: number }
  | { readonly says: string; readonly times?: number }
  | { readonly hears: string }
  | { readonly usage: Usage }
  | { readonly waitsMs: number };

/** The tools, task and clock of a script. */
export interface ScriptStage {
  /** The tools, guarded or not, by name. */
  readonly tools?: Readonly<Record<string, AnyFunction>>;
  /** The task that observes texts and usage. */
  readonly task?: Task;
  /** The clock that `waitsMs` advances. */
  readonly clock?: SimulatedClock;
  /**
   * Whether the agent continues after a halt.
   *
   * @default false
   */
  readonly stubborn?: boolean;
}

/** The result of one step. */
export type TranscriptLine = { readonly step: ScriptStep } & (
  | { readonly kind: 'result'; readonly value: unknown }
  | { readonly kind: 'error'; readonly error: unknown }
  | { readonly kind: 'refusal'; readonly refusal: Refusal }
  | { readonly kind: 'told' }
);

/** The results of all steps. */
export interface Transcript {
  readonly lines: readonly TranscriptLine[];
  readonly refusals: readonly Refusal[];
  /** The halt at which the agent stopped, or which it ignored. */
  readonly halt: Refusal | undefined;
}

/**
 * Returns an agent that runs a script on each call; it stops at a halt unless the stage is stubborn.
 * @example
 * import { createSwitchgear } from 'switchgear';
 * import { scriptedAgent } from 'switchgear/testing';
 *
 * const gear = createSwitchgear();
 * const agent = scriptedAgent([{ tool: 'search', args: ['tides'], times: 20 }]);
 * const tools = gear.guardAll({ search: () => 'nothing found' });
 * await gear.task(async (task) => console.log((await agent({ tools, task })).halt?.code)); // tool_loop
 */
export function scriptedAgent(script: readonly ScriptStep[]): (stage: ScriptStage) => Promise<Transcript> {
  return async (stage) => {
    const lines: TranscriptLine[] = [];
    const refusals: Refusal[] = [];
    let halt: Refusal | undefined;
    for (const step of repeatSteps(script)) {
      const line = await playStep(step, stage);
      lines.push(line);
      if (line.kind === 'refusal') {
        refusals.push(line.refusal);
        if (line.refusal.kind === 'halt') halt ??= line.refusal;
      }
      if (halt !== undefined && !stage.stubborn) break;
    }
    return { lines, refusals, halt };
  };
}

function* repeatSteps(script: readonly ScriptStep[]): Generator<ScriptStep> {
  for (const step of script) {
    const times = 'times' in step ? (step.times ?? 1) : 1;
    for (let time = 0; time < times; time++) yield step;
  }
}

async function playStep(step: ScriptStep, stage: ScriptStage): Promise<TranscriptLine> {
  if ('tool' in step) return callTool(step, stage);
  if ('waitsMs' in step) {
    if (stage.clock === undefined)
      throw new TypeError(`a step that waits ${step.waitsMs} ms needs a clock on the stage`);
    await stage.clock.elapse(step.waitsMs);
    return { step, kind: 'told' };
  }
  const halt = observeStep(step, stage.task);
  return halt === undefined ? { step, kind: 'told' } : { step, kind: 'refusal', refusal: halt };
}

async function callTool(step: Extract<ScriptStep, { tool: string }>, stage: ScriptStage): Promise<TranscriptLine> {
  const tools = stage.tools ?? {};
  const tool = Object.hasOwn(tools, step.tool) ? tools[step.tool] : undefined;
  if (tool === undefined) {
    throw new TypeError(
      `the script uses '${step.tool}', the stage has: ${Object.keys(tools).join(', ') || 'no tools'}`,
    );
  }
  try {
    const value = await tool(...(step.args ?? []));
    const refusal = isRefused(value) ? refusalOf(value) : undefined;
    return refusal === undefined ? { step, kind: 'result', value } : { step, kind: 'refusal', refusal };
  } catch (error) {
    const refusal = refusalOf(error);
    return refusal === undefined ? { step, kind: 'error', error } : { step, kind: 'refusal', refusal };
  }
}

function observeStep(
  step: Exclude<ScriptStep, { tool: string } | { waitsMs: number }>,
  task: Task | undefined,
): Refusal | undefined {
  if (task === undefined) throw new TypeError('a step with a text or usage needs a task on the stage');
  if ('says' in step) return task.observe({ type: 'assistant', text: step.says });
  if ('hears' in step) return task.observe({ type: 'user', text: step.hears });
  return task.observe({ type: 'usage', ...step.usage });
}
