/** Starts the command with a watchdog and a run record, before modules are loaded that are not needed for the start. */

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { readerFor } from '../../agents/reader-for.ts';
import type { AgentCommand } from '../../agents/reading/agent-command.ts';
import { SwitchgearError } from '../../core/error.ts';
import type { StreamMapping } from '../../core/event-mapping.ts';
import { agentGraceMs } from '../../core/limits.ts';
import { runCallsVariable } from '../../guard/internal.ts';
import { stateFolder, userStateFolder } from '../../platform/state-folder.ts';
import { systemClock } from '../../platform/system-clock.ts';
import { uniqueId } from '../../platform/unique-id.ts';
import type { Store } from '../../ports/store.ts';
import { type Child, type StartFailure, startChild } from '../../supervisor/child.ts';
import { containCommand } from '../../supervisor/containment.ts';
import { endTree } from '../../supervisor/end-tree.ts';
import { isBelowGuardedAgent } from '../../supervisor/guarded-agents.ts';
import { makeMarkName, type ProcessTree, processTree, type TreeMember } from '../../supervisor/process-tree.ts';
import { describeProcess, describeThisProcess, type RunRecord, writeRun } from '../../supervisor/run-record.ts';
import { watchTree } from '../../supervisor/tree-watch.ts';
import { startWatchdog, type Watchdog } from '../../supervisor/watchdog.ts';
import type { Terminal } from '../command.ts';
import type { Lead } from '../gateway/lead-agent.ts';
import { isPolicyVariable } from '../policy/policy-variables.ts';
import { findStoreAddress, formatAddress, passwordOf } from '../store-option.ts';
import { createLibraryCallFiles, deleteLibraryCallFiles } from './library-calls.ts';
import type { RunCommandOptions } from './options.ts';
import { saveTerminalState } from './terminal-state.ts';

/**
 * How a command runs. `interactive`: it uses the terminal directly. `pass`: unchanged, with its output passed on.
 * `show`: it prints events, which are shown as text. `events`: its events are printed as JSON events of Switchgear.
 */
export type LaunchMode = 'interactive' | 'pass' | 'show' | 'events';

export interface LaunchedRun {
  /** The stored record of the run. */
  readonly record: RunRecord;
  /** The recognized agent of the command. */
  readonly agent: AgentCommand;
  readonly mode: LaunchMode;
  /** The id of the agent's conversation, if known before the start. */
  readonly conversation: string | undefined;
  /** The wall time of the start. */
  readonly wallMs: number;
  /** The time of the store from which orders of an operator concern the run. */
  readonly orderedSinceMs: number;
  /** The signal that asks the agent to end; an interactive agent treats Ctrl-C as input. */
  readonly signal: 'SIGINT' | 'SIGTERM';
  /** Restores the terminal settings after an interactive command. */
  restoreTerminal(): void;
  readonly tree: ProcessTree;
  readonly watchdog: Watchdog;
  /** Processes of the agent that the store has to record, because its mark does not find them. */
  unmarkedMembers(): readonly TreeMember[];
  /** Dismisses the watchdog and deletes the file with the store's password, after the agent has ended. */
  release(): void;
  readonly child: Child | StartFailure;
  /** The file in which library programs below the run count their calls. */
  readonly libraryCalls: string | undefined;
}

export async function launch(
  store: Store,
  options: RunCommandOptions,
  terminal: Terminal,
  command: readonly string[],
  session: string,
  orderedSinceMs = store.clock.nowMs(),
  lead: Lead = { env: {}, args: [] },
): Promise<LaunchedRun> {
  const mapping = options.mapping as StreamMapping | undefined;
  const agent = readerFor(command, { heartbeats: options.heartbeats, ...(mapping !== undefined && { mapping }) });
  const mode = chooseLaunchMode(agent, options);
  const ownsTerminal = mode === 'interactive';
  const task = `t-${uniqueId()}`;
  const mark = makeMarkName(uniqueId());
  const tree = processTree(mark, !ownsTerminal);
  const signal = ownsTerminal ? 'SIGTERM' : agent.signal;
  const conversationArgs = chooseConversation(agent, mode, options);
  const restoreTerminal = ownsTerminal ? saveTerminalState() : () => undefined;
  const words = [...(mode === 'show' || mode === 'events' ? agent.command : command), ...conversationArgs.added];
  const chosen = addFlags(words, lead.args);
  const program = options.contain ? containCommand(chosen, terminal.env) : chosen;
  const agentStore = shareStore(options, terminal, task);
  const libraryCalls = createLibraryCallFiles(terminal.env, task);
  const watchdog = startWatchdog({ mark, ownsSession: !ownsTerminal, signal, file: agentStore.passwordFile });
  let record: RunRecord = {
    task,
    agent: findAgentName(options, command),
    session,
    command,
    options: options.ownArgs,
    observes: options.observe,
    cwd: terminal.cwd,
    state: 'running',
    startedMs: Date.now(),
    owner: describeThisProcess(),
    mark,
    ...(agent.cli === 'other' && libraryCalls !== undefined && { calls: libraryCalls }),
    ...(await readGivenVariables(store, terminal)),
  };
  // Before the start, so that the first hook of the agent finds the run.
  writeRun(store, record);
  const child = await startChild({
    command: program,
    cwd: terminal.cwd,
    env: {
      ...terminal.env,
      ...agentStore.env,
      ...lead.env,
      SWITCHGEAR_SESSION: session,
      SWITCHGEAR_TASK: task,
      [runCallsVariable]: libraryCalls,
      [mark]: '1',
    },
    ownsTerminal,
  });
  if ('pid' in child) {
    tree.setRoot(child.pid);
    if (tree.root !== undefined) {
      watchdog.setRoot([child.pid, tree.root.began]);
      // The commands of an operator refuse to run below this process.
      record = { ...record, agentProcess: describeProcess(tree.root) };
      writeRun(store, record);
    }
  }
  let unmarked: readonly TreeMember[] = [];
  const stopWatching = watchTree(tree, systemClock, (members) => {
    unmarked = members;
    watchdog.addMembers(members);
  });
  const launchInfo = { record, agent, mode, conversation: conversationArgs.conversation, wallMs: Date.now() };
  const release = () => {
    stopWatching();
    watchdog.dismiss();
    if (agentStore.passwordFile !== undefined) rmSync(agentStore.passwordFile, { force: true });
    deleteLibraryCallFiles(libraryCalls);
  };
  const unmarkedMembers = () => unmarked;
  const parts = { signal, restoreTerminal, tree, watchdog, unmarkedMembers, release, child };
  return { ...launchInfo, libraryCalls, orderedSinceMs, ...parts };
}

/** The variables with settings, no secrets; those of a run that an agent started may be the agent's. */
async function readGivenVariables(store: Store, terminal: Terminal): Promise<Pick<RunRecord, 'variables'>> {
  const { env } = terminal;
  const names = Object.keys(env).filter((name) => isPolicyVariable(name) && !/(KEY|PASSWORD|SECRET)$/.test(name));
  // Below the run they name the state folder only if the operator set them.
  if (stateFolder(env) !== userStateFolder(terminal)) names.push('HOME', 'XDG_STATE_HOME');
  if (names.length === 0 || (await isBelowGuardedAgent(store, env))) return {};
  return { variables: Object.fromEntries(names.map((name) => [name, env[name] ?? ''])) };
}

/** The name of the agent: the given one, the recognized program, or else the command. */
export function findAgentName({ agent }: Pick<RunCommandOptions, 'agent'>, command: readonly string[]): string {
  const { cli } = readerFor(command);
  return agent ?? (cli === 'other' ? basename(command[0] ?? '') : cli);
}

/** Adds flags to a command, before the words that are no flags. */
function addFlags(words: readonly string[], flags: readonly string[]): readonly string[] {
  const at = words.indexOf('--');
  return flags.length === 0 ? words : words.toSpliced(at === -1 ? words.length : at, 0, ...flags);
}

/** Runs `work` after a launch; ends the agent if `work` throws, since nothing would watch it. */
export async function endOnError<T>({ child, tree, signal, release }: LaunchedRun, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if ('pid' in child) await endTree(tree, systemClock, { signal, graceMs: agentGraceMs });
    release();
    throw error;
  }
}

/** The store for hooks of the agent, and how to remove the file with its password. */
interface AgentStore {
  readonly env: Terminal['env'];
  readonly passwordFile: string | undefined;
}

/** Hands the store on to hooks of the agent. A password does not reach its environment; hooks read it from a file. */
function shareStore({ parsedArgs }: RunCommandOptions, terminal: Terminal, task: string): AgentStore {
  const option = parsedArgs.values.get('--store');
  const isOwn = option !== undefined && option !== 'memory';
  const text = isOwn ? option : terminal.env.SWITCHGEAR_STORE;
  // Hooks cannot read the memory of this process; with this store they would refuse every call.
  if (text === 'memory') return { env: { SWITCHGEAR_STORE: undefined }, passwordFile: undefined };
  if (!text || (!isOwn && !text.startsWith('redis'))) return { env: {}, passwordFile: undefined };
  const address = findStoreAddress(isOwn ? parsedArgs : { ...parsedArgs, values: new Map() }, terminal);
  const password = passwordOf(address);
  const passwordFile = password && join(stateFolder(terminal.env), 'passwords', task);
  if (passwordFile) writePrivateFile(passwordFile, password);
  return { env: { SWITCHGEAR_STORE: formatAddress(address, passwordFile) }, passwordFile };
}

function writePrivateFile(path: string, text: string): void {
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const why = `hooks below the run need the file ${JSON.stringify(path)}: ${(error as Error).message}`;
    throw new SwitchgearError('store_unreachable', `the password of the store cannot be handed on: ${why}`);
  }
}

/** Chooses the conversation id of an interactive agent, which prints no events, if its command line accepts one. */
function chooseConversation({ cli, session, command }: AgentCommand, mode: LaunchMode, { raw }: RunCommandOptions) {
  const isContinued = session !== undefined || command.some((word) => /^(-c|--continue|-r|--resume)$/.test(word));
  if (mode !== 'interactive' || cli !== 'claude-code' || isContinued || raw)
    return { conversation: session, added: [] };
  const conversation = process.getBuiltinModule('node:crypto').randomUUID();
  return { conversation, added: ['--session-id', conversation] };
}

function chooseLaunchMode(
  { headless, stream }: AgentCommand,
  { raw, json, interactive }: RunCommandOptions,
): LaunchMode {
  const isAtTerminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
  if (interactive || (!headless && isAtTerminal && !json)) return 'interactive';
  if (json) return 'events';
  return !raw && stream === 'asked' ? 'show' : 'pass';
}
