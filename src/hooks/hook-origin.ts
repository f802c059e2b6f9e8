/**
 * The process that ran a hook. A host starts a hook as its child, directly or through `sh -c`. A tool of the agent
 * that starts a hook by itself is recognized by the processes between the hook and the host.
 */

import { basename } from 'node:path';
import { hookHostsMax } from '../core/limits.ts';
import { recordHost } from '../supervisor/guarded-agents.ts';
import { readProcessChain } from '../supervisor/process-chain.ts';
import { type ProcessInfo, readCommandLine } from '../supervisor/process-table.ts';
import type { HookContext } from './session/hook-tasks.ts';
import type { LockedSession } from './session/session-lock.ts';

export interface HookOrigin {
  /** The first process above the hook that is no shell or launcher; undefined if there is none. */
  readonly host: ProcessInfo | undefined;
  /** The command lines of the shells and launchers between the hook and its host. */
  readonly between: readonly string[];
  /** All processes above the hook. */
  readonly ancestors: readonly ProcessInfo[];
}

const shellName = /^-?(ba|da|z|k|mk|a|fi|c|tc)?sh$/;
const launcherName = /^(npm|npx|pnpm|pnpx|yarn|bunx?|env|timeout|nice|nohup|stdbuf)(-cli)?(\.[cm]?js)?$/;

/** Reads the origin of the hook that this process is. */
export function readHookOrigin(): HookOrigin {
  const { links } = readProcessChain();
  const ancestors = links.slice(1);
  const between: string[] = [];
  for (const each of ancestors) {
    if (each.pid === 1) break;
    const words = readCommandLine(each.pid);
    const kind = recognizeCommand(words);
    // A person at a shell is no host.
    if (kind === 'interactive shell') break;
    if (kind === 'program') return { host: each, between, ancestors };
    between.push(words.join(' '));
  }
  return { host: undefined, between, ancestors };
}

/** A shell with a script file counts as a program. */
function recognizeCommand([program = '', ...args]: readonly string[]) {
  const name = basename(program);
  if (shellName.test(name)) {
    const options = args.slice(
      0,
      Math.max(
        0,
        args.findIndex((arg) => !/^[-+]/.test(arg)),
      ),
    );
    const isCommand = (args.find((arg) => !/^[-+]/.test(arg)) === undefined ? args : options).some((arg) =>
      /^-\w*c/.test(arg),
    );
    if (isCommand) return 'shell command';
    return args.some((arg) => !/^[-+]/.test(arg)) ? 'program' : 'interactive shell';
  }
  const isLauncher =
    launcherName.test(name) || (/^(node|bun)$/.test(name) && launcherName.test(basename(args[0] ?? '')));
  return isLauncher ? 'launcher' : 'program';
}

/** Records the host of a session once, so that no command below the host acts as an operator. */
export async function recordSessionHost(
  { store, agent }: HookContext,
  locked: LockedSession,
  { host }: HookOrigin,
  session: string,
): Promise<void> {
  const { hosts = [] } = locked.state;
  if (host === undefined || hosts.some(({ pid, began }) => pid === host.pid && began === host.began)) return;
  await recordHost(store, host, { agent, session });
  const { pid, began } = host;
  locked.state = { ...locked.state, hosts: [...hosts, { pid, began }].slice(-hookHostsMax) };
}
