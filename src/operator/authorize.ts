/**
 * Decides whether a process may answer or give orders as an operator. An agent that the store guards never may. A
 * process that could be one of its processes must prove that a person is at its terminal.
 */

import { userName } from '../approvers/user-name.ts';
import type { AnswerOrigin } from '../core/card.ts';
import { SwitchgearError } from '../core/error.ts';
import { reasonLengthMax } from '../core/limits.ts';
import type { Store } from '../ports/store.ts';
import { describeAgent, type GuardedAgent, type Placement, placeProcess } from '../supervisor/guarded-agents.ts';
import { formatProcessChain } from '../supervisor/process-chain.ts';

/** The person who answers or orders: the user of the system, and the process. */
export interface Operator {
  readonly by: string;
  readonly from?: AnswerOrigin | undefined;
}

export interface OperatorRequest {
  /** `loosen`: approves, resumes, resets, raises or takes back. `tighten`: declines, pauses or trips. `stop`: halts. */
  readonly effect: 'loosen' | 'tighten' | 'stop';
  readonly env: Readonly<Record<string, string | undefined>>;
  /** What `--by` says. */
  readonly note?: string | undefined;
  /** Whether a trusted policy allows answers without a terminal. */
  readonly allowsUnattended: () => Promise<boolean>;
  /** Asks a person at the terminal to type a code; undefined without a terminal. */
  readonly askForCode: (reason: string) => Promise<boolean | undefined>;
  /** The place of the process; found by default. */
  readonly placement?: Placement;
  /** The person that a token names. The holder of a token is not asked for a code. */
  readonly tokenHolder?: string | undefined;
}

/** Returns the operator, or throws `operator_required`. */
export async function authorizeOperator(store: Store, request: OperatorRequest): Promise<Operator> {
  const { effect, env, note, allowsUnattended, askForCode, tokenHolder } = request;
  const placement = request.placement ?? (await placeProcess(store, env));
  const identify = (how: AnswerOrigin['how']): Operator => ({
    by: tokenHolder ?? userName(),
    from: {
      how: tokenHolder !== undefined && how === 'operator' ? 'token' : how,
      processes: describeProcesses(placement),
      ...(note !== undefined && { note: note.slice(0, reasonLengthMax) }),
    },
  });
  switch (placement.kind) {
    case 'operator':
      return identify('operator');
    case 'guarded':
      // A halt only tightens, so an agent may give it, too.
      if (effect === 'stop') return { ...identify('agent'), by: `${placement.agent.name} (an agent)` };
      throw belowAgentError(placement.agent);
    case 'unknown': {
      // An emergency stop must work from everywhere.
      if (effect !== 'loosen' || tokenHolder !== undefined) return identify('operator');
      const isCodeRight = await askForCode(placement.reason);
      if (isCodeRight === true) return identify('code');
      if (isCodeRight === undefined && (await allowsUnattended())) return identify('unattended');
      throw unplacedError(placement.reason, isCodeRight === undefined);
    }
  }
}

/** The chain of processes, or why it is unknown. */
function describeProcesses(placement: Placement): string {
  const { chain } = placement;
  return chain.links.length === 0 && placement.kind === 'unknown' ? placement.reason : formatProcessChain(chain);
}

/** The error for a command of an agent. It says where a person can answer. */
function belowAgentError(agent: GuardedAgent): SwitchgearError {
  if (agent.by === 'hidden') {
    return new SwitchgearError(
      'operator_required',
      'refused: the processes above this one are hidden from it, and one of them may be an agent that this store ' +
        'guards; a person can run the command in a terminal that sees them (/proc)',
    );
  }
  return new SwitchgearError(
    'operator_required',
    `refused: this process belongs to ${describeAgent(agent)}, which this store guards, and only a person may decide ` +
      'this; a person can run the command in a terminal that the agent has not started, or decide on the page of ' +
      '"switchgear serve"',
  );
}

function unplacedError(reason: string, hasNoTerminal: boolean): SwitchgearError {
  const why = `an agent runs on this store and may have started this process, because ${reason}`;
  return new SwitchgearError(
    'operator_required',
    hasNoTerminal
      ? `refused: ${why}; a person can run the command in a terminal`
      : 'refused: the code was not typed at the terminal',
  );
}
