/** The codes of refusals that no control makes: by an operator, and by the engine itself. */

import { type RefusalContext, type RefusalTexts, stoppedTexts } from '../declare/refusal-texts.ts';

/** The refusals of an operator, and of the program that started a task. */
export const operatorCodes = {
  name: 'operator',
  codes: {
    task_paused: {
      kind: 'deny',
      means: 'an operator paused the task, or all tasks',
      remedy: 'wait until it is resumed; the refusal counts nowhere',
      texts(context: RefusalContext): RefusalTexts {
        const remediation = 'Wait, and call nothing else until an operator has it go on.';
        return stoppedTexts(context, context.reason ?? 'paused', remediation);
      },
    },
    operator_halt: {
      kind: 'halt',
      means: 'an operator halted the task, or all tasks',
      remedy: 'ask the operator; start a new task',
      texts(context: RefusalContext): RefusalTexts {
        const remediation = 'An operator halted this task. Stop now, and call nothing else.';
        return stoppedTexts(context, context.reason ?? 'halted by hand', remediation);
      },
    },
    cancelled: {
      kind: 'halt',
      means: 'the program that started the task cancelled it by its signal',
      remedy: 'nothing: the program wanted it',
      texts({ reason }: RefusalContext): RefusalTexts {
        return {
          message: `Cancelled by the caller${reason === undefined ? '' : `: ${reason}`}`,
          remediation: 'The program that started this task cancelled it. Stop now, and call nothing else.',
          explanation: 'the caller cancelled it',
        };
      },
    },
  },
} as const;

/** The refusals of the MCP proxy. */
export const mcpCodes = {
  name: 'mcp',
  codes: {
    tool_not_allowed: {
      kind: 'deny',
      means: 'the policy does not let the tool of an MCP server be used',
      remedy: 'use another tool; a person changes the lists of tools in the policy',
      settings: ['mcp.tools'],
      texts(context: RefusalContext): RefusalTexts {
        const remediation = 'Do not call it again. Use another tool, or ask the user.';
        return stoppedTexts(context, `the policy does not allow '${context.name}'`, remediation);
      },
    },
    tool_changed: {
      kind: 'deny',
      means: 'the MCP server changed the definition of the tool since it was first seen',
      remedy: 'a person approves the change in the inbox',
      settings: ['mcp.on_tool_change'],
      texts(context: RefusalContext): RefusalTexts {
        const remediation = 'Do not call it again before the user has approved the change. Use another tool.';
        return stoppedTexts(context, `the definition of '${context.name}' has changed`, remediation);
      },
    },
  },
} as const;

/** The refusals of the gateway that no control makes. They count for no task. */
export const gatewayCodes = {
  name: 'gateway',
  codes: {
    unpriced_path: {
      kind: 'deny',
      means: 'the cost of the path cannot be metered, and money or tokens are limited',
      remedy: 'a person allows the path by name',
      settings: ['gateway.allow_unpriced'],
      texts: (context: RefusalContext) => gatewayTexts(context, 'Use a path whose cost can be metered.'),
    },
    model_not_allowed: {
      kind: 'deny',
      means: 'the key of the client may not call the model',
      remedy: 'use another model, or a key that may call it',
      texts: (context: RefusalContext) => gatewayTexts(context, 'Use another model, or ask the user.'),
    },
    rate_limit: {
      kind: 'deny',
      means: 'the rates of the key have no room within 10 s',
      remedy: 'try again after the time in `Retry-After`',
      texts: (context: RefusalContext) => gatewayTexts(context, 'Try again later.'),
    },
  },
} as const;

function gatewayTexts(context: RefusalContext, remediation: string): RefusalTexts {
  return stoppedTexts(context, context.reason ?? 'refused by the gateway', remediation);
}

/** The refusals of the engine. */
export const guardCodes = {
  name: 'guard',
  codes: {
    internal_error: {
      kind: 'deny',
      means: 'an internal error of Switchgear',
      remedy: 'report it; the call itself was not at fault',
      texts({ name, reason }: RefusalContext): RefusalTexts {
        return {
          message: `'${name}' was refused because the safety layer could not decide`,
          remediation: 'Ask the user. This is not the fault of the call.',
          explanation: `internal error while deciding on ${name}: ${reason ?? 'unknown'}`,
        };
      },
    },
  },
} as const;
