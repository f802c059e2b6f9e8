/**
 * Finds the store that guards an agent above this process, if the process uses another one. An agent can name another
 * store for what it starts, by a variable or an option, in which nothing is known of the agent.
 */

import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Card } from '../core/card.ts';
import { SwitchgearError } from '../core/error.ts';
import { stateFolder, userStateFolder } from '../platform/state-folder.ts';
import type { CrossProcessStore } from '../ports/store.ts';
import { describeAgent, type GuardedAgent, placeProcess } from '../supervisor/guarded-agents.ts';
import { type ProcessChain, readProcessChain } from '../supervisor/process-chain.ts';
import { readStartVariables } from '../supervisor/process-table.ts';
import type { ParsedArgs, Terminal } from './command.ts';
import { findStoreAddress, type StoreAddress, storeExists, withStore } from './store-option.ts';

/** The use of a store. */
export interface StoreUse {
  /** The store; undefined if it is the memory of the process. */
  readonly address: StoreAddress | undefined;
  readonly user: 'hook' | 'command';
  /** What becomes of the use, in the words of a card. */
  readonly effect: string;
}

const noArgs: ParsedArgs = { positionals: [], switches: new Set(), values: new Map() };
/** Other stores in which the agents above a process are looked for. */
const otherStoresMax = 4;
const storeVariables = ['SWITCHGEAR_STORE', 'XDG_STATE_HOME', 'HOME'] as const;

/**
 * Finds the store that guards an agent above this process and is not the one in use. Reports the use in that store,
 * as an entry and a card, once for each agent and kind of user. Opens a store only if there is another one.
 */
export async function reportOtherStore(
  use: StoreUse,
  parsedArgs: ParsedArgs,
  terminal: Terminal,
  chain: ProcessChain = readProcessChain(),
): Promise<StoreAddress | undefined> {
  for (const address of listOtherStores(use.address, terminal, chain)) {
    const report = async (store: CrossProcessStore) => {
      const place = await placeProcess(store, terminal.env, chain);
      // Where processes are hidden, an operator may have named the store.
      if (place.kind !== 'guarded' || place.agent.by === 'hidden') return false;
      await writeReport(store, place.agent, use, { name: nameCause(parsedArgs, terminal), before: address.name });
      return true;
    };
    try {
      if (await withStore(address, report, { verify: false, skipCheckpoint: terminal.isShortLived === true }))
        return address;
    } catch (error) {
      // An old store that cannot be opened guards nobody.
      if (error instanceof SwitchgearError && error.code === 'store_busy') throw error;
    }
  }
  return undefined;
}

/** Reports a command with another store than the one that guards an agent above it. */
export async function reportCommandStore(
  effect: string,
  parsedArgs: ParsedArgs,
  terminal: Terminal,
): Promise<StoreAddress | undefined> {
  const isMemory = (parsedArgs.values.get('--store') ?? terminal.env.SWITCHGEAR_STORE) === 'memory';
  const address = isMemory ? undefined : findStoreAddress(parsedArgs, terminal);
  return reportOtherStore({ address, user: 'command', effect }, parsedArgs, terminal).catch(() => undefined);
}

/**
 * Lists the stores that may guard an agent above: that of the user, and those that the processes above were started
 * with. The outermost come first, because an agent can start processes with any variables below itself.
 */
function listOtherStores(
  own: StoreAddress | undefined,
  terminal: Terminal,
  { links }: ProcessChain,
): readonly StoreAddress[] {
  const usual = `sqlite:${join(userStateFolder(terminal), 'state.db')}`;
  const found = new Map<string, StoreAddress>();
  const add = (env: Terminal['env'], cwd: string) => {
    try {
      const address = findStoreAddress(noArgs, { ...terminal, env, cwd });
      if (!found.has(address.name) && storeExists(address) && !isSameStore(address, own))
        found.set(address.name, address);
    } catch {
      // The variable of another process is no address; `memory` guards nobody here.
    }
  };
  add({ SWITCHGEAR_STORE: usual }, terminal.cwd);
  for (const link of links.slice(1).toReversed()) {
    const { env, cwd } = readStartVariables(link, storeVariables) ?? {};
    if (env !== undefined && cwd !== undefined && storeVariables.some((name) => env[name])) add(env, cwd);
  }
  return [...found.values()].slice(0, otherStoresMax);
}

/** Whether two addresses are of one store; a file may have several paths. */
function isSameStore(one: StoreAddress, other: StoreAddress | undefined): boolean {
  if (one.name === other?.name) return true;
  if (one.kind !== 'sqlite' || other?.kind !== 'sqlite') return false;
  const [first, second] = [one, other].map(({ path }) => statSync(path, { throwIfNoEntry: false }));
  return first !== undefined && first.dev === second?.dev && first.ino === second.ino;
}

/** The option or variable that names the store. */
function nameCause({ values }: ParsedArgs, terminal: Terminal): string {
  const { env } = terminal;
  if (values.has('--store')) return '--store';
  if (env.SWITCHGEAR_STORE || stateFolder(env) === userStateFolder(terminal)) return 'SWITCHGEAR_STORE';
  return env.XDG_STATE_HOME ? 'XDG_STATE_HOME' : 'HOME';
}

async function writeReport(
  store: CrossProcessStore,
  agent: GuardedAgent,
  { address, user, effect }: StoreUse,
  { name, before }: { readonly name: string; readonly before: string },
): Promise<void> {
  const id = `card-store-${user}-${agent.id}`.slice(0, idMax);
  if (store.card(id) !== undefined) return;
  const value = (address?.name ?? 'memory').slice(0, textMax);
  const card: Card = {
    ...{ id, kind: 'notice', task: '', code: 'notice', counters: {} },
    evidence: [`a ${user} below ${describeAgent(agent)} was given another store, ${value} (${name}): ${effect}`],
    actions: ['dismiss'],
    state: 'open',
  };
  const atMs = store.clock.nowMs();
  store.append({ type: 'setting-loosened', name, value, before }, {}, atMs);
  store.putCard(card);
  store.append({ type: 'card-changed', card }, {}, atMs);
  await store.shared.settled();
}

/** Characters of an address in an entry, and of the id of a card. */
const textMax = 300;
const idMax = 200;
