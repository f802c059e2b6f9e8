/** The limits of one tool: how often a task, and all tasks of a session, may call it. */

import type { Action } from '../../action.ts';
import type { Control } from '../../control.ts';
import type { BoundControl } from '../../decide.ts';
import type { JointBudget, TaskSettings } from '../../settings.ts';
import { allow, askToRaise, type Stop } from '../../verdict.ts';
import { type BudgetState, mayRaise } from './budget.ts';

/** Tools with a limit that one task counts; further tools are refused. */
const toolLimitsMax = 1_000;

/** Binds the limit of a tool to the budget of its task, which counts the calls that were let through. */
export function bindToolLimit(
  name: string,
  limit: number,
  cell: { state: BudgetState },
  task: Pick<TaskSettings, 'atLimit'>,
): BoundControl {
  return { control: toolLimit(name, limit, task) as Control, cell, cellOwner: 'self' };
}

function toolLimit(name: string, written: number, task: Pick<TaskSettings, 'atLimit'>): Control<BudgetState> {
  const limitIn = ({ raisedTools = {} }: BudgetState) =>
    Object.hasOwn(raisedTools, name) ? Math.max(written, raisedTools[name]!) : written;
  const countOf = (state: BudgetState) => {
    const { toolCalls = {} } = state;
    if (Object.hasOwn(toolCalls, name)) return toolCalls[name]!;
    return Object.keys(toolCalls).length >= toolLimitsMax ? limitIn(state) : 0;
  };
  return {
    name: 'budget',
    scope: 'task',
    initial: () => ({ calls: 0, tokens: 0, micros: 0, reservedTokens: 0, reservedMicros: 0 }),
    judge(state) {
      const actual = countOf(state) + 1;
      const limit = limitIn(state);
      if (actual <= limit) return allow;
      const counters = { scope: 'task', actual, limit };
      const stop: Stop = { kind: 'deny', code: 'tool_limit', control: 'budget', counters };
      return mayRaise(state, task) ? askToRaise(stop, 'maxCalls', limit, name) : stop;
    },
    apply(state, event) {
      const isTaken = event.type === 'action-decided' && event.verdict.kind === 'allow';
      // A call that never ran is given back.
      const isReturned =
        event.type === 'action-settled' && event.outcome.kind === 'neutral' && event.outcome.why === 'given-back';
      const change = isTaken ? 1 : isReturned ? -1 : 0;
      if (change !== 0) state.toolCalls = { ...state.toolCalls, [name]: Math.max(0, countOf(state) + change) };
      return state;
    },
  };
}

/** The limit of one tool in a session: a joint budget of calls that refuses the tool and ends no task. */
export interface ToolBudget extends JointBudget {
  readonly tool: string;
}

export function toolBudget(tool: string, limit: number): ToolBudget {
  return { scope: 'session', unit: 'calls', limit, tool };
}

/** Whether a tool has limits of its own: calls of models and workers have others. */
export function isToolCall({ kind }: Pick<Action, 'kind'>): boolean {
  return kind === 'tool' || kind === 'step';
}
