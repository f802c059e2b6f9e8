/**
 * The process of a stdio server: started with the environment of the relay, ended with its descendants. A small shell
 * process ends it if the relay is killed.
 */

import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { systemClock, waitFor } from '../platform/system-clock.ts';
import { uniqueId } from '../platform/unique-id.ts';
import type { ProcessExit } from '../supervisor/child.ts';
import { endTree } from '../supervisor/end-tree.ts';
import { makeMarkName, type ProcessTree, processTree } from '../supervisor/process-tree.ts';
import { endMs, endSignalMs } from './limits.ts';
import type { LinkFailure, ServerLink } from './server-link.ts';

/** Starts a server, with more variables in its environment, in a folder. Its stderr is that of this process. */
export async function startServerProcess(
  command: readonly string[],
  { env, cwd }: { readonly env?: Readonly<Record<string, string>>; readonly cwd?: string } = {},
): Promise<ServerLink | LinkFailure> {
  const [program = '', ...args] = command;
  let child: ChildProcessByStdio<Writable, Readable, null>;
  try {
    child = spawn(program, args, {
      stdio: ['pipe', 'pipe', 'inherit'],
      detached: process.platform !== 'win32',
      env: { ...process.env, ...env },
      ...(cwd !== undefined && { cwd }),
    });
    await once(child, 'spawn');
  } catch (error) {
    return { error: error as NodeJS.ErrnoException };
  }
  const pid = child.pid!;
  const tree = processTree(makeMarkName(`mcp_${uniqueId()}`), true);
  tree.setRoot(pid);
  const reaper = startReaper(pid);
  const exited = once(child, 'exit').then(([code, signal]) => ({ code, signal }) as ProcessExit);
  // A descendant may keep the output open after the server has exited.
  const closed = once(child, 'close');
  const ended = exited.then(async (exit) => {
    await waitFor(systemClock, closed, endSignalMs);
    return exit;
  });
  child.stdin.on('error', () => undefined); // Its exit reports that the server is gone.
  child.stdout.on('error', () => undefined);

  let ending: Promise<void> | undefined;
  const finish = async (signal: 'SIGINT' | 'SIGTERM') => {
    await endDescendants(tree, signal);
    dismiss(reaper);
  };
  void exited.then(() => {
    ending ??= finish('SIGTERM');
  });
  return {
    pid,
    input: child.stdin,
    output: child.stdout,
    ended,
    async end() {
      child.stdin.end();
      await waitFor(systemClock, exited, endMs);
      ending ??= finish('SIGTERM');
      await ending;
    },
    async signal(signal) {
      ending ??= finish(signal);
      await ending;
    },
  };
}

async function endDescendants(tree: ProcessTree, signal: 'SIGINT' | 'SIGTERM'): Promise<void> {
  await endTree(tree, systemClock, { signal, graceMs: endSignalMs });
}

/**
 * Starts a shell that waits for a line. If its input ends without one, this process was killed, and the shell ends the
 * process group of the server.
 */
function startReaper(group: number): ChildProcess | undefined {
  if (process.platform === 'win32') return undefined;
  const script = 'trap "" HUP INT TERM; read -r _ && exit; kill -TERM "-$1"; sleep 1; kill -KILL "-$1"';
  try {
    const reaper = spawn('/bin/sh', ['-c', script, 'sh', String(group)], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
      env: { PATH: process.env.PATH },
    });
    reaper.on('error', () => undefined);
    reaper.stdin?.on('error', () => undefined);
    reaper.unref();
    (reaper.stdin as { unref?: () => void } | null)?.unref?.();
    return reaper;
  } catch {
    return undefined; // Without it the server still sees the end of its input.
  }
}

function dismiss(reaper: ChildProcess | undefined): void {
  reaper?.stdin?.end('done\n');
}
