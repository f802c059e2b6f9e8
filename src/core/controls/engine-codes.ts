/** The codes of refusals that no control makes: by an operator, and by the engine itself. */

import { type RefusalContext, type RefusalTexts, stoppedTexts } from '../declare/refusal-texts.ts';

/** The refusals of an operator. */
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
