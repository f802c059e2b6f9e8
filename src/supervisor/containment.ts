/**
 * Runs a command in a PID namespace of its own, with `bwrap` or `unshare`: the command sees no process outside of it,
 * and the kernel ends everything in it when the command ends or is killed.
 */

import { spawnSync } from 'node:child_process';
import { SwitchgearError } from '../core/error.ts';
import { containProbeMs } from '../core/limits.ts';

/** The first process of the namespace: runs the command and collects processes without a parent. */
const firstProcess = ['/bin/sh', '-c', '"$@"; exit $?', 'sh'];

const unshare = ['unshare', '--pid', '--fork', '--kill-child', '--mount-proc'];
const bwrap = ['bwrap', '--dev-bind', '/', '/', '--proc', '/proc', '--unshare-pid', '--die-with-parent', '--'];

/** The ways to contain a command, the best first. `bwrap` has a first process of its own. */
function listWays(): readonly (readonly string[])[] {
  const withUser = [...unshare, '--user', '--map-current-user', '--', ...firstProcess];
  const isRoot = process.getuid?.() === 0;
  return [bwrap, ...(isRoot ? [[...unshare, '--', ...firstProcess]] : []), withUser];
}

/** Returns the command that runs another one contained; throws if this system does not allow it. */
export function containCommand(command: readonly string[], env: Readonly<Record<string, string | undefined>>) {
  const reasons = new Set<string>();
  for (const way of process.platform === 'linux' ? listWays() : []) {
    const [program = '', ...args] = way;
    const probe = spawnSync(program, [...args, 'true'], { env, timeout: containProbeMs, encoding: 'utf8' });
    if (probe.status === 0) return [...way, ...command];
    const isMissing = (probe.error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT';
    reasons.add(isMissing ? `${program} is not installed` : `${program}: ${firstLine(probe.stderr) || 'no answer'}`);
  }
  const why = reasons.size === 0 ? 'it needs Linux' : [...reasons].join('; ');
  throw new SwitchgearError(
    'contain_unavailable',
    `--contain cannot be used here (${why}); run the agent in a container, or without --contain`,
  );
}

function firstLine(text: string | undefined): string {
  return (text ?? '').trim().split('\n')[0]!.slice(0, 200);
}
