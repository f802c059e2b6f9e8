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
