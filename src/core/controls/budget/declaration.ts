/** Declares the budget control. */

import type { Control } from '../../control.ts';
import type { PanelDeclaration } from '../../declare/control-declaration.ts';
import { overBudgetTexts, type RefusalContext, type RefusalTexts, stoppedTexts } from '../../declare/refusal-texts.ts';
import { unlimited, wholeNumber } from '../../declare/setting.ts';
import { taskSection } from '../../declare/task-section.ts';
import { formatCents } from '../../quote.ts';
import type { BaseSettings } from '../../settings.ts';
import { type BudgetState, budget, maxTreeCallsOf } from './budget.ts';

export const budgetDeclaration = {
  name: 'budget',
  scope: 'chain',
  summary: {
    stops: 'a task that makes too many calls or spends too much',
    byDefault: 'a task beyond 50 tool calls, 500 of delegated work or $50 of model use',
    statePer:
      'task, money also every ancestor; joint budgets of a policy: session, agent, project, store, key or model',
  },
  section: {
    ...taskSection,
    fields: {
      max_tool_calls: wholeNumber('Tool calls of a task; one more halts the task.', 50, 'lower', {
        env: 'BB_CIRCUIT_BREAKER_TOOL_CAP',
        optional: true,
        none: unlimited,
      }),
      max_tree_calls: wholeNumber(
        'Tool calls of all delegated work below a root task; one more halts the root.',
        undefined,
        'lower',
        { derived: 'ten times `max_tool_calls`, 500 if that is "none"' },
      ),
      max_model_calls: wholeNumber('Model calls of a task; one more halts the task.', undefined, 'lower'),
      max_spend_cents: wholeNumber('Money a task may spend on models, in cents.', 5000, 'lower', {
        env: 'BB_CIRCUIT_BREAKER_COST_CAP_CENTS',
      }),
      max_tokens: wholeNumber('Tokens a task may use.', undefined, 'lower', { max: Number.MAX_SAFE_INTEGER }),
    },
  },
  codes: {
    tool_call_limit: {
      kind: 'halt',
      means: 'too many calls in the task',
      remedy: 'narrow the work, or retry with raised limits',
      actions: ['narrow_scope'],
      raises: 'maxToolCalls',
      byCall: true,
      isExceeded(actual: number, { task }: BaseSettings): boolean {
        return actual > task.maxToolCalls;
      },
      texts(context: RefusalContext): RefusalTexts {
        return overBudgetTexts(context, `tool calls: ${context.reached}`, 'Call no more tools.');
      },
    },
    tree_call_limit: {
      kind: 'halt',
      means: 'too many calls in all delegated work below the root task',
      remedy: 'delegate less, or retry with a raised `task.max_tree_calls`',
      actions: ['narrow_scope'],
      raises: 'maxTreeCalls',
      byCall: true,
      isExceeded(actual: number, { task }: BaseSettings): boolean {
        return actual > maxTreeCallsOf(task);
      },
      texts(context: RefusalContext): RefusalTexts {
        return overBudgetTexts(
          context,
          `tool calls of delegated work: ${context.reached}`,
          'Delegate no more work, and call no more tools.',
        );
      },
    },
    token_spend_limit: {
      kind: 'halt',
      means: 'the task\'s money is used up, or a price is unknown and `on_unknown_price = "halt"`',
      remedy: 'the same',
      raises: 'maxSpendCents',
      isExceeded(actual: number, { task }: BaseSettings): boolean {
        return actual > task.maxSpendCents;
      },
      texts(context: RefusalContext): RefusalTexts {
        const { actual, limit, counters } = context;
        const parts = (['guessed', 'estimated'] as const).flatMap((part) =>
          counters[part] === undefined ? [] : [`${dollars(counters[part])} ${part}`],
        );
        const uncertain = parts.length === 0 ? '' : ` (${parts.join(', ')})`;
        const spend = `spend: ${dollars(actual)} of ${dollars(limit)}${uncertain}`;
        return overBudgetTexts(context, spend, 'Make no more calls.');
      },
    },
    token_limit: {
      kind: 'halt',
      means: "the task's tokens are used up",
      remedy: 'the same',
      raises: 'maxTokens',
      isExceeded(actual: number, { task }: BaseSettings): boolean {
        return actual > (task.maxTokens ?? Number.POSITIVE_INFINITY);
      },
      texts(context: RefusalContext): RefusalTexts {
        return overBudgetTexts(context, `tokens: ${context.reached}`, 'Make no more calls.');
      },
    },
    model_call_limit: {
      kind: 'halt',
      means: 'too many model calls in the task',
      remedy: 'narrow the work, or retry with raised limits',
      actions: ['narrow_scope'],
      raises: 'maxModelCalls',
      isExceeded(actual: number, { task }: BaseSettings): boolean {
        return actual > (task.maxModelCalls ?? Number.POSITIVE_INFINITY);
      },
      texts(context: RefusalContext): RefusalTexts {
        return overBudgetTexts(context, `model calls: ${context.reached}`, 'Make no more calls.');
      },
    },
    tool_limit: {
      kind: 'deny',
      means: 'the tool was called as often as a task or session may',
      settings: ['circuit_breaker.max_calls', 'circuit_breaker.max_calls_session'],
      remedy: 'go on without the tool, or raise `tools.NAME.max_calls` or `max_calls_session`',
      texts(context: RefusalContext): RefusalTexts {
        const { name, limit, counters } = context;
        const summary = `${name} may be called ${limit} times in a ${counters.scope ?? 'task'}, and was`;
        return stoppedTexts(context, summary, 'Do not call it again. Go on without it, or say what is missing.');
      },
    },
  },
  create(settings: BaseSettings): Control<BudgetState> {
    return budget(settings.task);
  },
} as const satisfies PanelDeclaration;

function dollars(cents: number | string): string {
  return typeof cents === 'number' ? formatCents(cents) : cents;
}
