/** Decides whether the holder of a token may decide: not if the request comes from below a guarded agent. */

import type { Card } from '../core/card.ts';
import { SwitchgearError } from '../core/error.ts';
import type { CrossProcessStore } from '../ports/store.ts';
import { type GuardedAgent, type Placement, placeChains } from '../supervisor/guarded-agents.ts';
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
  // A stop only tightens, so it needs no look at who gives it.
  if (placement.kind === 'unknown' && placement.isUnread === true && effect !== 'stop')
    throw unseenError(placement.reason);
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

/** Places the process at the other end. Of several that share the connection, or may have it, a guarded one counts. */
async function placePeer(store: CrossProcessStore, connection: ConnectionEnds): Promise<Placement> {
  const peer = await findPeer(connection);
  const chain: ProcessChain = { links: [], isComplete: false };
  if (peer.kind === 'hidden') return { kind: 'unknown', reason: peer.reason, chain, isUnread: true };
  if (peer.kind === 'unknown') {
    const { reason, candidates = [] } = peer;
    const placements = await placeChains(
      store,
      {},
      candidates.map((pid) => readProcessChain(pid)),
    );
    return placements.find(isGuardedByName) ?? { kind: 'unknown', reason, chain };
  }
  const chains = peer.kind === 'gone' ? [] : peer.pids.map((pid) => readProcessChain(pid));
  const living = chains.filter(({ links, isHidden }) => links.length > 0 || isHidden === true);
  if (living.length === 0) {
    throw new SwitchgearError(
      'operator_required',
      'refused: the client closed its connection before its process could be found; it must wait for the answer',
    );
  }
  const placements = await placeChains(store, {}, living);
  return placements.find(({ kind }) => kind === 'guarded') ?? placements[0]!;
}

/** Whether a process is below an agent that is known, not only below processes that are hidden. */
function isGuardedByName(placement: Placement): boolean {
  return placement.kind === 'guarded' && placement.agent.by !== 'hidden';
}

/** The error for a request whose process should be known and is not. */
function unseenError(reason: string): SwitchgearError {
  return new SwitchgearError(
    'operator_required',
    `refused: the process that sent the request cannot be told from an agent, because ${reason}; ` +
      'a person can decide in a terminal: switchgear inbox',
  );
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
