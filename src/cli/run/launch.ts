/** Starts the command with a watchdog and a run record, before modules are loaded that are not needed for the start. */

import { basename } from 'node:path';
import { readerFor } from '../../agents/reader-for.ts';
import type { AgentCommand } from '../../agents/reading/agent-command.ts';
import type { StreamMapping } from '../../core/event-mapping.ts';
import { agentGraceMs } from '../../core/limits.ts';
import { systemClock } from '../../platform/system-clock.ts';
import { uniqueId } from '../../platform/unique-id.ts';
import type { Store } from '../../ports/store.ts';
import { type Child, type StartFailure, startChild } from '../../supervisor/child.ts';
import { endTree } from '../../supervisor/end-tree.ts';
import { makeMarkName, type ProcessTree, processTree } from '../../supervisor/process-tree.ts';
import { describeThisProcess, type RunRecord, writeRun } from '../../supervisor/run-record.ts';
import { startWatchdog, type Watchdog } from '../../supervisor/watchdog.ts';
import type { Terminal } from '../command.ts';
import { findStoreAddress } from '../store-option.ts';
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
  /** The signal that asks the agent to end; an interactive agent treats Ctrl-C as input. */
  readonly signal: 'SIGINT' | 'SIGTERM';
  /** Restores the terminal settings after an interactive command. */
  restoreTerminal(): void;
  readonly tree: ProcessTree;
  readonly watchdog: Watchdog;
  readonly child: Child | StartFailure;
}

export async function launch(
  store: Store,
  options: RunCommandOptions,
  terminal: Terminal,
  command: readonly string[],
  session: string,
): Promise<LaunchedRun> {
  const agent = readerFor(command, options.mapping === undefined ? {} : { mapping: options.mapping as StreamMapping });
  const mode = chooseLaunchMode(agent, options);
  const ownsTerminal = mode === 'interactive';
  const task = `t-${uniqueId()}`;
  const mark = makeMarkName(uniqueId());
  const tree = processTree(mark, !ownsTerminal);
  const signal = ownsTerminal ? 'SIGTERM' : agent.signal;
  const restoreTerminal = ownsTerminal ? saveTerminalState() : () => undefined;
  const watchdog = startWatchdog({ mark, ownsSession: !ownsTerminal, signal });
  const conversationArgs = chooseConversation(agent, mode, options);
  const record: RunRecord = {
    task,
    agent: options.agent ?? findAgentName(agent.cli, command),
    session,
    command,
    options: options.ownArgs,
    cwd: terminal.cwd,
    state: 'running',
    owner: describeThisProcess(),
  };
  // Before the start, so that the first hook of the agent finds the run.
  writeRun(store, record);
  const child = await startChild({
    command: [...(mode === 'show' || mode === 'events' ? agent.command : command), ...conversationArgs.added],
    cwd: terminal.cwd,
    env: {
      ...terminal.env,
      ...makeStoreEnv(options, terminal),
      SWITCHGEAR_SESSION: session,
      SWITCHGEAR_TASK: task,
      [mark]: '1',
    },
    ownsTerminal,
  });
  if ('pid' in child) {
    tree.setRoot(child.pid);
    watchdog.setRoot(child.pid);
  }
  const launchInfo = { record, agent, mode, conversation: conversationArgs.conversation, wallMs: Date.now() };
  return { ...launchInfo, signal, restoreTerminal, tree, watchdog, child };
}

/** The name of the agent: the recognized program, else the command. */
function findAgentName(cli: string, [program = '']: readonly string[]): string {
  return cli === 'other' ? basename(program) : cli;
}

/** Runs `work` after a launch; ends the agent if `work` throws, since nothing would watch it. */
export async function endOnError<T>(
  { child, tree, signal, watchdog }: LaunchedRun,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if ('pid' in child) await endTree(tree, systemClock, { signal, graceMs: agentGraceMs });
    watchdog.dismiss();
    throw error;
  }
}

/** The store for hooks of the agent, if it is a file. A server address may contain a password and is not passed on. */
function makeStoreEnv({ parsedArgs }: RunCommandOptions, terminal: Terminal): Terminal['env'] {
  if (parsedArgs.values.get('--store')?.startsWith('sqlite:'))
    return { SWITCHGEAR_STORE: findStoreAddress(parsedArgs, terminal).name };
  // Hooks cannot read the memory of this process; with this store they would refuse every call.
  return terminal.env.SWITCHGEAR_STORE === 'memory' ? { SWITCHGEAR_STORE: undefined } : {};
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
