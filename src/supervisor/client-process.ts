/**
 * The process of a client: of the program that started a proxy, or that a connection comes from. Its application is
 * the process above it in which a person may have a terminal, as in an editor.
 */

import { basename } from 'node:path';
import { type ProcessChain, readProcessChain } from './process-chain.ts';
import { hasProcessFiles, mayTypeInto, type ProcessInfo, readCommandLine, readPipeId } from './process-table.ts';
import { type CommandKind, isBridge, recognizeCommand, shellName } from './recognize-command.ts';

export interface ClientProcess {
  /** The program, scripts and bridges between it and the proxy, and the agent CLI above it. */
  readonly processes: readonly ProcessInfo[];
  /** The main process of an application whose part the program is. */
  readonly application?: ProcessInfo | undefined;
}

/** Programs that start what a person or a machine asks for. */
const sessionName = /^(systemd|launchd|init|login|sshd(-session)?|tmux(: \w+)?|screen|crond?|anacron|atd)$/i;
/** Commands that send a request for what is above them; after another program, a script of a person goes on. */
const transferName = /^(curl|wget|https?|xh)$/;
const substituteName = /^(sudo|doas|su)$/;

/**
 * Finds the client that started this process, directly or through shells, scripts, launchers and programs that pass on
 * their own input. Undefined if a person did in a terminal, or if no program of this machine is above.
 */
export function findStartingClient(chain: ProcessChain = readProcessChain()): ClientProcess | undefined {
  return findClientAbove(chain.links);
}

/**
 * Describes the processes that have a connection open, and those above for which they have it; undefined if all of
 * them have ended.
 */
export function findConnectedClient(pids: readonly number[]): ClientProcess | undefined {
  const chains = pids.map((pid) => readProcessChain(pid)).filter(({ links }) => links.length > 0);
  if (chains.length === 0) return undefined;
  const clients = chains.map(({ links }) => {
    const words = readCommandLine(links[0]!.pid);
    const user = isBridge(words) ? findClientAbove(links) : undefined;
    const senders = transferName.test(basename(words[0] ?? '')) ? findSenders(links.slice(1)) : [];
    const above = user?.processes ?? [...senders, ...findAgent(links.slice(1))];
    return { processes: [links[0]!, ...above], application: user?.application ?? findApplication(links) };
  });
  const processes = clients.flatMap((each) => each.processes);
  return {
    processes: processes.filter(({ pid }, at) => processes.findIndex((each) => each.pid === pid) === at),
    application: clients.find(({ application }) => application !== undefined)?.application,
  };
}

function findClientAbove(links: readonly ProcessInfo[]): ClientProcess | undefined {
  const scripts: ProcessInfo[] = [];
  const input = readPipeId(links[0]?.pid ?? 0, 0);
  for (const [at, link] of links.entries()) {
    if (at === 0 || substituteName.test(link.name)) continue;
    if (link.pid === 1 || sessionName.test(link.name)) break;
    const words = readCommandLine(link.pid);
    const kind = recognizeCommand(words);
    if (kind === 'launcher' || kind === 'shell command') continue;
    if (isPersonsShell(link, kind)) break;
    const ownInput = readPipeId(link.pid, 0);
    const isSameInput = input !== undefined && ownInput === input;
    if (isScript(words, link)) {
      scripts.push(link);
      // Without a pipe a script is the client itself. A shell that reads its commands from a pipe is, too.
      const passes = kind === 'program' ? ownInput !== undefined : isSameInput;
      if (passes || !hasProcessFiles()) continue;
      return { processes: [...scripts, ...findAgent(links.slice(at + 1))] };
    }
    if (kind === 'program' && isSameInput) continue;
    const agent = kind === 'agent' ? [] : findAgent(links.slice(at + 1));
    return { processes: [...scripts, link, ...agent], application: findApplication(links.slice(at)) };
  }
  return scripts.length === 0 ? undefined : { processes: scripts };
}

/** Finds the scripts that run a command, or else the program: an agent may send its requests by curl. */
function findSenders(links: readonly ProcessInfo[]): readonly ProcessInfo[] {
  const scripts: ProcessInfo[] = [];
  for (const link of links) {
    if (link.pid === 1 || sessionName.test(link.name)) break;
    const words = readCommandLine(link.pid);
    const kind = recognizeCommand(words);
    if (isScript(words, link)) scripts.push(link);
    else if (kind === 'program' && scripts.length === 0) return [link];
    else if (!/^(launcher|shell command)$/.test(kind)) break;
  }
  return scripts;
}

/** Whether a process is a shell with a script, or one that reads its commands from a file or a pipe. */
function isScript(words: readonly string[], link: ProcessInfo): boolean {
  if (!shellName.test(basename(words[0] ?? ''))) return false;
  const kind = recognizeCommand(words);
  return kind === 'program' || (kind === 'interactive shell' && !isPersonsShell(link, kind));
}

/** Whether a process is a shell in which a person types commands at a terminal. */
function isPersonsShell({ pid, hasTerminal }: ProcessInfo, kind: CommandKind): boolean {
  return kind === 'interactive shell' && hasTerminal && mayTypeInto(pid);
}

/** Finds the nearest agent CLI, which programs below it are tools of; none if a person started them in a terminal. */
function findAgent(links: readonly ProcessInfo[]): readonly ProcessInfo[] {
  for (const link of links) {
    const kind = recognizeCommand(readCommandLine(link.pid));
    if (kind === 'agent') return [link];
    if (isPersonsShell(link, kind)) return [];
  }
  return [];
}

/** Finds the main process of an application: of its parts, Chromium tells the kind by an option. */
function findApplication(links: readonly ProcessInfo[]): ProcessInfo | undefined {
  const isPart = ({ pid }: ProcessInfo) => readCommandLine(pid).some((word) => word.startsWith('--type='));
  const at = links.findIndex((link) => !isPart(link));
  const main = at > 0 ? links[at] : undefined;
  // A command with such an option may be started in a terminal.
  if (main === undefined || main.pid === 1 || sessionName.test(main.name)) return undefined;
  return isPersonsShell(main, recognizeCommand(readCommandLine(main.pid))) ? undefined : main;
}
