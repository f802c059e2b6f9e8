/**
 * Tells agent and operator apart: whether a process is below an agent that a store guards. An agent is guarded by a
 * live run, whose record names its process, by hooks, which record the process of their host, or by a proxy or gateway,
 * which records the processes of its clients. A proxy also records a server that it starts for clients elsewhere.
 */

import { agentRunsMax, hostSilenceMs } from '../core/limits.ts';
import type { Store } from '../ports/store.ts';
import { type ProcessChain, readProcessChain } from './process-chain.ts';
import { findUnlessHidden, hasEnvironmentMark, isEarlier, type ProcessInfo } from './process-table.ts';
import {
  listRecordedClients,
  listRecordedHosts,
  type RecordedClient,
  type RecordedHost,
  readRecordedClients,
  readRecordedHosts,
} from './recorded-agents.ts';
import {
  describeProcess,
  isHere,
  isSameProcess,
  isSupervised,
  type RecordedProcess,
  type RunRecord,
  readRuns,
  readStoredRun,
} from './run-record.ts';

/** The place of a process. */
export type Placement = {
  readonly chain: ProcessChain;
} & (
  | { readonly kind: 'guarded'; readonly agent: GuardedAgent }
  | { readonly kind: 'operator' }
  /** No guarded agent was found above the process, but one may have started it. */
  | {
      readonly kind: 'unknown';
      readonly reason: string;
      /** Whether the store has more runs than are read, so that the process may belong to one of them. */
      readonly isUnread?: boolean;
    }
);

/** An agent that a store guards. */
export interface GuardedAgent {
  /** `hidden`: which agent it is cannot be told, because the processes above are hidden. */
  readonly by: 'run' | 'hooks' | 'mcp' | 'gateway' | 'server' | 'hidden';
  /** The name of the agent, and its task or session; of a client, the name of its proxy. */
  readonly name: string;
  readonly id: string;
  /** The process of the agent, once known. */
  readonly process?: RecordedProcess | undefined;
  /** The main process of the application that a client is a part of; a person may have a terminal in it. */
  readonly application?: RecordedProcess | undefined;
  /** Processes of a run that have left its tree without its variable. */
  readonly members?: RunRecord['members'];
  /** The supervisor of a run. */
  readonly supervisor?: RecordedProcess;
  /** The variable that all processes of a live run have. */
  readonly mark?: string | undefined;
  /** Whether the agent may be running; then it may have started processes that have left its tree. */
  readonly isRunning: boolean;
}

/** Reads the agents that the store guards on this machine, and that are running or whose supervisor is. */
export async function readGuardedAgents(store: Store): Promise<{
  readonly agents: readonly GuardedAgent[];
  readonly hasAllRuns: boolean;
  readonly hasAllHosts: boolean;
  readonly hasRecords: boolean;
}> {
  const stored = await readRuns(store);
  // A run that cannot be looked up from here counts only while its supervisor reports it.
  const runs = stored.filter((run) => isSupervised(run, store) || isVisible(run)).map(fromRun);
  const [hosts, clients] = await Promise.all([listRecordedHosts(store), listRecordedClients(store)]);
  const atMs = store.clock.nowMs();
  const hooked = hosts.records.map((each) => fromHost(each, atMs));
  const named = [...runs, ...hooked];
  // An agent with hooks is known by its session.
  const others = clients.records
    .map((each) => fromClient(each, atMs))
    .filter(({ process: own }) => !named.some((each) => each.process && own && isSameProcess(own, each.process)));
  const agents = [...named, ...others].filter(
    ({ supervisor, isRunning }) => isRunning || (supervisor !== undefined && isRunningHere(supervisor)),
  );
  const hasAllRuns = stored.length < agentRunsMax;
  const hasRecords = stored.length + hooked.length + clients.records.length > 0;
  return { agents, hasAllRuns, hasAllHosts: hosts.isComplete && clients.isComplete, hasRecords };
}

function fromRun({ task, agent, owner, agentProcess, members, mark, state }: RunRecord): GuardedAgent {
  // A run without a recorded agent process is just starting it.
  const isStarting = agentProcess === undefined && state === 'running' && isRunningHere(owner);
  const isRunning = isStarting || (agentProcess !== undefined && isRunningHere(agentProcess));
  return { by: 'run', name: agent, id: task, process: agentProcess, members, supervisor: owner, mark, isRunning };
}

function fromHost({ agent, session, process: host, seenMs = 0 }: RecordedHost, atMs: number): GuardedAgent {
  // A host in another PID namespace cannot be looked up, so it counts as running only while its hooks report it.
  const isRunning = isRunningHere(host) && (isSameNamespace(host) || atMs - seenMs < hostSilenceMs);
  return { by: 'hooks', name: agent, id: session, process: host, isRunning };
}

function fromClient(
  { by, agent, name, process: client, application, seenMs }: RecordedClient,
  atMs: number,
): GuardedAgent {
  const isRunning = isRunningHere(client) && (isSameNamespace(client) || atMs - seenMs < hostSilenceMs);
  return { by, name: agent, id: name, process: client, application, isRunning };
}

/** Whether a recorded process runs on this machine. Inside another PID namespace it cannot be seen, and may run. */
function isRunningHere(recorded: RecordedProcess): boolean {
  if (!isHere(recorded)) return false;
  if (!isSameNamespace(recorded)) return true;
  // A process that has left the tree can hide the agent from what it starts.
  const found = findUnlessHidden(recorded.pid);
  return found === 'hidden' || found?.began === recorded.began;
}

/** Whether the processes of a run can be looked up from here. */
function isVisible({ owner }: RunRecord): boolean {
  return isHere(owner) && isSameNamespace(owner);
}

function isSameNamespace({ space = '' }: RecordedProcess): boolean {
  return space === '' || space === describeProcess({ pid: 0, began: '' }).space;
}

/** Finds the live run below which a process runs: the run that its variable names, or else the nearest one. */
export async function findRunAround(
  store: Store,
  env: Environment,
  chain: ProcessChain = readProcessChain(),
): Promise<RunRecord | undefined> {
  const { SWITCHGEAR_TASK: task } = env;
  const isAround = (run: RunRecord) =>
    run.state === 'running' && isSupervised(run, store) && isBelow(fromRun(run), chain, env);
  const named = task ? await readStoredRun(store, task) : undefined;
  if (named !== undefined && isAround(named)) return named;
  const around = (await readRuns(store)).filter(isAround);
  const distanceOf = ({ owner }: RunRecord) => {
    const at = chain.links.findIndex((link) => isSameProcess(owner, link));
    return at === -1 ? chain.links.length : at;
  };
  return around.toSorted((one, other) => distanceOf(one) - distanceOf(other))[0];
}

/** Whether this process is below an agent that the store guards. */
export async function isBelowGuardedAgent(store: Store, env: Environment = process.env): Promise<boolean> {
  return (await placeProcess(store, env)).kind === 'guarded';
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Names an agent and where it is known from, for a message. */
export function describeAgent({ by, name, id }: GuardedAgent): string {
  switch (by) {
    case 'run':
      return `${name} (the run ${id})`;
    case 'hooks':
      return `${name} (the session ${id})`;
    case 'mcp':
      return `${name} (a client of the MCP proxy ${id})`;
    case 'gateway':
      return `${name} (a client of the gateway)`;
    case 'server':
      return `${name} (the server of an MCP proxy)`;
    case 'hidden':
      return name;
  }
}

/** Places a process, by default this one, whose environment is `env`; `own` is an agent that cannot have started it. */
export async function placeProcess(
  store: Store,
  env: Environment = process.env,
  chain: ProcessChain = readProcessChain(),
  own?: ProcessInfo,
): Promise<Placement> {
  return (await placeChains(store, env, [chain], own))[0]!;
}

/** Places several processes by one read of the store. */
export async function placeChains(
  store: Store,
  env: Environment,
  chains: readonly ProcessChain[],
  own?: ProcessInfo,
): Promise<readonly Placement[]> {
  const read = await readGuardedAgents(store);
  const isOwn = ({ process: agent }: GuardedAgent) => own !== undefined && agent && isSameProcess(agent, own);
  const place = async (chain: ProcessChain): Promise<Placement> => {
    // Where /proc hides processes, a guarded agent among the ancestors may be hidden, too.
    if (chain.isHidden && read.hasRecords) return { kind: 'guarded', agent: hiddenAgent, chain };
    // The hosts above the process are looked up by themselves: a store may have more hosts than are read.
    const above = read.hasAllHosts ? [] : await readAgentsAbove(store, chain);
    const agents = [...read.agents, ...above].filter((agent) => !isOwn(agent));
    const guarding = agents.find((agent) => isBelow(agent, chain, env));
    if (guarding !== undefined) return { kind: 'guarded', agent: guarding, chain };
    // An agent may be among those that were not read.
    if (!read.hasAllRuns) return { kind: 'unknown', reason: unreadReason, chain, isUnread: true };
    const running = agents.filter(({ isRunning }) => isRunning);
    const reason = running.length === 0 ? undefined : findDoubt(running, chain);
    if (reason !== undefined) return { kind: 'unknown', reason, chain };
    return read.hasAllHosts ? { kind: 'operator', chain } : { kind: 'unknown', reason: unreadReason, chain };
  };
  return Promise.all(chains.map(place));
}

/** Reads the hosts of hooks and the clients of proxies among the processes of a chain. */
async function readAgentsAbove(store: Store, { links }: ProcessChain): Promise<readonly GuardedAgent[]> {
  const [hosts, clients] = await Promise.all([readRecordedHosts(store, links), readRecordedClients(store, links)]);
  const atMs = store.clock.nowMs();
  return [...hosts.map((each) => fromHost(each, atMs)), ...clients.map((each) => fromClient(each, atMs))];
}

const unreadReason = 'the store has too many sessions to read them all';
const hiddenAgent: GuardedAgent = { by: 'hidden', name: 'an agent', id: '', isRunning: true };

function isBelow(agent: GuardedAgent, { links }: ProcessChain, env: Environment): boolean {
  const { process: agentProcess, members = [], supervisor, mark } = agent;
  const isMember = ({ pid, began }: ProcessInfo) => members.some((each) => each[0] === pid && each[1] === began);
  if (supervisor !== undefined && isHere(supervisor) && links.some(isMember)) return true;
  if (agentProcess !== undefined && links.some((link) => isSameProcess(agentProcess, link))) return true;
  // The supervisor itself is no agent, and everything below it is.
  if (supervisor !== undefined && links.slice(1).some((link) => isSameProcess(supervisor, link))) return true;
  if (mark === undefined) return false;
  return env[mark] !== undefined || links.some((link) => hasEnvironmentMark(link, `${mark}=`));
}

/**
 * Why a process may have been started by a running agent although the agent is not above it; undefined if it was not.
 * A process that leaves the tree of an agent becomes a child of the first process of the system or of a service. So
 * the chain must contain a process that is older than all agents and no service, and the process needs a terminal.
 */
function findDoubt(running: readonly GuardedAgent[], { links, isComplete }: ProcessChain): string | undefined {
  if (!isComplete) return 'its parent processes cannot be read';
  if (!links[0]!.hasTerminal) return 'it has no terminal';
  const agents = running.flatMap((agent) => agent.process ?? agent.supervisor ?? []);
  if (agents.some((agent) => !isSameNamespace(agent))) return 'an agent runs in another PID or time namespace';
  // An editor starts the terminals of a person and those of its agent in the same way.
  const applications = running.flatMap(({ application }) => application ?? []);
  if (applications.some((each) => links.some((link) => isSameProcess(each, link))))
    return 'it runs in the application of an agent';
  return isPlacedApart(links, agents) ? undefined : 'all its parent processes are younger than a running agent';
}

/** Whether processes of a chain are older than all agents and no services, so that no agent started the chain. */
export function isPlacedApart(
  links: readonly ProcessInfo[],
  agents: readonly Pick<ProcessInfo, 'pid' | 'began'>[],
): boolean {
  const isOlder = ({ began }: ProcessInfo) => agents.every((agent) => isEarlier(began, agent.began));
  const isService = ({ pid, parent }: ProcessInfo) => pid === 1 || parent <= 1;
  return links.some((link) => isOlder(link) && !isService(link));
}
