/** The limits of one tool: how often a task, and all tasks of a session, may call it. */

import type { Action } from '../../action.ts';
import type { Control } from '../../control.ts';
import type { BoundControl } from '../../decide.ts';
import type { JointBudget } from '../../settings.ts';
import { allow } from '../../verdict.ts';
import type { BudgetState } from './budget.ts';

/** Tools with a limit that one task counts; further tools are refused. */
const toolLimitsMax = 1_000;

/** Binds the limit of a tool to the budget of its task, which counts the calls that were let through. */
export function bindToolLimit(name: string, limit: number, cell: { state: BudgetState }): BoundControl {
  return { control: toolLimit(name, limit) as Control, cell, cellOwner: 'self' };
}

function toolLimit(name: string, limit: number): Control<BudgetState> {
  const countOf = ({ toolCalls = {} }: BudgetState) =>
    Object.hasOwn(toolCalls, name) ? toolCalls[name]! : Object.keys(toolCalls).length >= toolLimitsMax ? limit : 0;
  return {
    name: 'budget',
    scope: 'task',
    initial: () => ({ calls: 0, tokens: 0, micros: 0, reservedTokens: 0, reservedMicros: 0 }),
    judge(state) {
      const actual = countOf(state) + 1;
      if (actual <= limit) return allow;
      return { kind: 'deny', code: 'tool_limit', control: 'budget', counters: { scope: 'task', actual, limit } };
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
