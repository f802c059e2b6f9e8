/**
 * The process of a client: of the program that started a proxy, or that a connection comes from. Its application is
 * the process above it in which a person may have a terminal, as in an editor.
 */

import { basename } from 'node:path';
import { type ProcessChain, readProcessChain } from './process-chain.ts';
import { type ProcessInfo, readCommandLine } from './process-table.ts';
import { recognizeCommand, shellName } from './recognize-command.ts';

export interface ClientProcess {
  /** The program, and the scripts between it and the proxy. */
  readonly processes: readonly ProcessInfo[];
  /** The main process of an application whose part the program is. */
  readonly application?: ProcessInfo | undefined;
}

/** Programs that start what a person or a machine asks for. */
const sessionName = /^(systemd|launchd|init|login|sshd(-session)?|tmux.*|screen)$/i;
const substituteName = /^(sudo|doas|su)$/;

/**
 * Finds the client that started this process, directly or through shells, scripts and launchers. Undefined if a person
 * did in a terminal, or if no program of this machine is above.
 */
export function findStartingClient(chain: ProcessChain = readProcessChain()): ClientProcess | undefined {
  const scripts: ProcessInfo[] = [];
  for (const [at, link] of chain.links.entries()) {
    if (at === 0 || substituteName.test(link.name)) continue;
    if (link.pid === 1 || sessionName.test(link.name)) break;
    const words = readCommandLine(link.pid);
    const kind = recognizeCommand(words);
    if (kind === 'launcher' || kind === 'shell command') continue;
    if (kind === 'interactive shell') {
      if (link.hasTerminal) break;
    } else if (kind === 'program' && shellName.test(basename(words[0] ?? ''))) scripts.push(link);
    else return { processes: [...scripts, link], application: findApplication(chain.links.slice(at)) };
  }
  return scripts.length === 0 ? undefined : { processes: scripts };
}

/** Describes the processes that have a connection open; undefined if all of them have ended. */
export function findConnectedClient(pids: readonly number[]): ClientProcess | undefined {
  const chains = pids.map((pid) => readProcessChain(pid)).filter(({ links }) => links.length > 0);
  if (chains.length === 0) return undefined;
  const application = chains.map(({ links }) => findApplication(links)).find((each) => each !== undefined);
  return { processes: chains.map(({ links }) => links[0]!), application };
}

/** Finds the main process of an application: of its parts, Chromium tells the kind by an option. */
function findApplication(links: readonly ProcessInfo[]): ProcessInfo | undefined {
  const isPart = ({ pid }: ProcessInfo) => readCommandLine(pid).some((word) => word.startsWith('--type='));
  const at = links.findIndex((link) => !isPart(link));
  return at > 0 && links[at]!.pid !== 1 ? links[at] : undefined;
}
