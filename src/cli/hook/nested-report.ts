/** Reports a session to the run around it: the run books the calls and the usage of agents that its agent started. */

import { readFileSync, statSync } from 'node:fs';
import type { HookEvent, HookHost, Payload } from '../../hooks/hosts/hook-event.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { reportNestedAgent } from '../../supervisor/hook-mailbox.ts';
import { readStoredRun } from '../../supervisor/run-record.ts';

/** Reports an event, and the id of its call if it proposes one; returns false if the run has too many nested agents. */
export async function reportToRun(
  store: CrossProcessStore,
  task: string,
  host: HookHost,
  payload: Payload,
  event: Exclude<HookEvent, { readonly type: 'other' }>,
  call: string | undefined,
): Promise<boolean> {
  const { path } = host.transcript(payload) ?? {};
  const startedMs = (await readStoredRun(store, task))?.startedMs;
  return reportNestedAgent(store, task, {
    session: event.session,
    host: host.name,
    call,
    file: path === undefined ? undefined : { path, from: findStart(path, startedMs) },
    parents: listParents(),
  });
}

/** The first byte of a session file that belongs to the run: 0, unless the file is older than the run. */
function findStart(path: string, startedMs: number | undefined): number {
  try {
    const { size, birthtimeMs } = statSync(path);
    return startedMs !== undefined && birthtimeMs > 0 && birthtimeMs < startedMs ? size : 0;
  } catch {
    return 0; // The file does not exist yet.
  }
}

/** The parent of this hook and its parent: the host, maybe with a shell in between. */
function listParents(): readonly number[] {
  try {
    const stat = readFileSync(`/proc/${process.ppid}/stat`, 'utf8');
    return [process.ppid, Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])];
  } catch {
    return [process.ppid];
  }
}
