/** Identifies the operator of a command that answers or gives orders; refuses the commands of guarded agents. */

import { authorizeOperator, type Operator, type OperatorRequest } from '../../operator/authorize.ts';
import { askForTerminalCode } from '../../operator/terminal-code.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import type { ParsedArgs, Terminal } from '../command.ts';
import { reportCommandStore } from '../guarding-store.ts';

/** Returns the user of this process, with `--by` as a note; throws `operator_required`. */
export async function identifyOperator(
  store: CrossProcessStore,
  parsedArgs: ParsedArgs,
  terminal: Terminal,
  effect: OperatorRequest['effect'],
): Promise<Operator> {
  if (effect !== 'stop') await reportCommandStore('its decisions do not hold here', parsedArgs, terminal);
  return authorizeOperator(store, {
    effect,
    env: terminal.env,
    note: parsedArgs.values.get('--by'),
    async allowsUnattended() {
      const { loadPolicyInForce } = await import('./policy-in-force.ts');
      // The variables of a process that may belong to an agent are not trusted, only the list of trusted policies.
      const place = { isBelowAgent: async () => true, isOperator: async () => false };
      const { policy } = await loadPolicyInForce(undefined, terminal, place);
      return policy.settings.approval.unattended;
    },
    askForCode: (reason) => askForTerminalCode(reason, store.clock),
  });
}
