/** Decides whether the holder of a token may decide: not if the request comes from below a guarded agent. */

import type { Card } from '../core/card.ts';
import { SwitchgearError } from '../core/error.ts';
import type { CrossProcessStore } from '../ports/store.ts';
import { type GuardedAgent, type Placement, placeProcess } from '../supervisor/guarded-agents.ts';
import { type ConnectionEnds, findPeer } from '../supervisor/peer-process.ts';
import { formatProcessChain, type ProcessChain, readProcessChain } from '../supervisor/process-chain.ts';
import { authorizeOperator, type Operator, type OperatorRequest } from './authorize.ts';

/** A request that came with a valid token. */
export interface TokenRequest {
  readonly effect: OperatorRequest['effect'];
  /** The person that the token names. */
  readonly by: string;
  readonly note?: string | undefined;
  /** The connection that the request came over. */
  readonly connection: ConnectionEnds;
}

/** Returns the operator, or throws `operator_required`; a refused agent is reported by a card. */
export async function authorizeTokenHolder(store: CrossProcessStore, request: TokenRequest): Promise<Operator> {
  const { effect, by, note, connection } = request;
  const placement = await placePeer(store, connection);
  try {
    return await authorizeOperator(store, {
      effect,
      env: {},
      note,
      allowsUnattended: async () => false,
      askForCode: async () => undefined,
      placement,
      tokenHolder: by,
    });
  } catch (error) {
    if (placement.kind === 'guarded') await reportAgent(store, placement.agent, placement.chain, by);
    throw error;
  }
}

/** Places the process at the other end. Of several that share the connection, a guarded one counts. */
async function placePeer(store: CrossProcessStore, connection: ConnectionEnds): Promise<Placement> {
  const peer = findPeer(connection);
  if (peer.kind === 'unknown') {
    const { reason } = peer;
    return { kind: 'unknown', reason, chain: { links: [], isComplete: false } };
  }
  const chains = peer.kind === 'gone' ? [] : peer.pids.map((pid) => readProcessChain(pid));
  const living = chains.filter(({ links, isHidden }) => links.length > 0 || isHidden === true);
  if (living.length === 0) {
    throw new SwitchgearError(
      'operator_required',
      'refused: the client closed its connection before its process could be found; it must wait for the answer',
    );
  }
  const placements = await Promise.all(living.map((chain) => placeProcess(store, {}, chain)));
  return placements.find(({ kind }) => kind === 'guarded') ?? placements[0]!;
}

/** Opens a card about an agent that has used a token, once for each run or session. */
async function reportAgent(
  store: CrossProcessStore,
  { name, id }: GuardedAgent,
  chain: ProcessChain,
  by: string,
): Promise<void> {
  const card: Card = {
    ...{ id: `card-token-used-${id || 'hidden'}`, kind: 'notice', task: id, code: 'notice', counters: {} },
    evidence: [
      `${name} sent a decision with the token of ${by}, and was refused: ${formatProcessChain(chain)}`,
      'Revoke the token: switchgear serve token revoke NAME; a printed token ends with its server',
    ],
    actions: ['dismiss'],
    state: 'open',
    ...{ risk: 'high', agent: name, openedWallMs: store.clock.wallMs() },
  };
  if (store.card(card.id) !== undefined) return;
  store.putCard(card);
  store.append({ type: 'card-changed', card }, { task: id, agent: name }, store.clock.nowMs());
  await store.shared.settled();
}
