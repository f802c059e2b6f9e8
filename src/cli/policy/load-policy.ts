/** Loads the policy of a command, and prints what a person must know about it. */

import type { CheckedPolicy } from '../../policy/check/check-policy.ts';
import type { EarlierSettings } from '../../policy/file/written-policy.ts';
import type { CrossProcessStore, Store } from '../../ports/store.ts';
import { isBelowGuardedAgent, type Placement, placeProcess } from '../../supervisor/guarded-agents.ts';
import type { ParsedArgs, Terminal } from '../command.ts';
import { findStoreAddress, storeExists, withStore } from '../store-option.ts';
import { describePolicy, describeWaiting, listLoosening } from './describe-policy.ts';
import { type CallerPlace, loadPolicyInForce, type PolicyInForce } from './policy-in-force.ts';

const noArgs: ParsedArgs = { positionals: [], switches: new Set(), values: new Map() };

/** The place of a command that has not opened its store. */
export function placeOfCommand(terminal: Terminal, parsedArgs: ParsedArgs = noArgs): CallerPlace {
  const findKind = async (): Promise<Placement['kind']> => {
    try {
      const address = findStoreAddress(parsedArgs, terminal);
      if (!storeExists(address)) return 'operator';
      const ask = (store: CrossProcessStore) => placeProcess(store, terminal.env);
      return (await withStore(address, ask, { verify: false })).kind;
    } catch {
      return 'guarded'; // Without its store the process cannot be placed.
    }
  };
  return {
    isBelowAgent: async () => (await findKind()) === 'guarded',
    isOperator: async () => (await findKind()) === 'operator',
  };
}

/** The place of a command on an open store. */
export function placeOnStore(store: Store, { env }: Terminal): CallerPlace {
  return {
    isBelowAgent: () => isBelowGuardedAgent(store, env),
    isOperator: async () => (await placeProcess(store, env)).kind === 'operator',
  };
}

/** Loads the policy in force; prints every variable that is ignored or loosens, and the settings that wait. */
export async function loadEffectivePolicy(
  policyOption: string | undefined,
  terminal: Terminal,
  place: CallerPlace = placeOfCommand(terminal),
): Promise<PolicyInForce> {
  const inForce = await loadPolicyInForce(policyOption, terminal, place);
  printVariables({ ...inForce, loosened: listLoosening(inForce) }, terminal);
  if (inForce.waiting.length > 0) terminal.err(`warning: ${describeWaiting(inForce)}`);
  return inForce;
}

/** Loads the policy of a run; prints which file is in force and whether it is looser than the defaults. */
export async function loadDescribedPolicy(
  policyOption: string | undefined,
  terminal: Terminal,
  place: CallerPlace,
  isQuiet: boolean,
  earlier?: EarlierSettings,
): Promise<CheckedPolicy> {
  const inForce = await loadPolicyInForce(policyOption, terminal, place, earlier);
  printVariables(inForce, terminal);
  const isLooser = inForce.looser.length > 0 || inForce.waiting.length > 0;
  if (isLooser || (inForce.origin !== 'none' && !isQuiet)) terminal.err(`switchgear: ${describePolicy(inForce)}`);
  return inForce.policy;
}

function printVariables({ warnings, loosened }: PolicyInForce, terminal: Terminal): void {
  for (const message of [...warnings, ...loosened.map((each) => each.message)]) terminal.err(`warning: ${message}`);
}
