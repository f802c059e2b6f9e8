/** Runs one attempt of an agent: passes its output on, watches its task, and ends the process on a halt. */

import { haltedDrainMs, leftBehindMs } from '../../core/limits.ts';
import type { Refusal } from '../../core/refusal.ts';
import { runtimeOf, sweep } from '../../guard/internal.ts';
import { wait } from '../../platform/system-clock.ts';
import type { Clock } from '../../ports/clock.ts';
import { exitCodeOf } from '../../supervisor/child.ts';
import { type EndTreeResult, endTree, signalTree } from '../../supervisor/end-tree.ts';
import type { ProcessTree } from '../../supervisor/process-tree.ts';
import { type AttemptSummary, type RunTask, startRunAccounting } from './accounting.ts';
import type { RunCommandContext } from './context.ts';
import type { LaunchedRun } from './launch.ts';
import { createOutputReader } from './output-reader.ts';
import { listenForSignals } from './signals.ts';

/** How an attempt ended. */
export type AttemptEnd =
  | { readonly how: 'ended'; readonly code: number; readonly leftBehind: number }
  | { readonly how: 'halted'; readonly halt: Refusal; readonly ended: EndTreeResult }
  | { readonly how: 'stopped'; readonly by: NodeJS.Signals; readonly ended: EndTreeResult }
  | { readonly how: 'not-started'; readonly code: 126 | 127; readonly message: string };

export interface Attempt extends AttemptSummary {
  readonly end: AttemptEnd;
}

export async function runAttempt(
  context: RunCommandContext,
  launched: LaunchedRun,
  runTask: RunTask,
): Promise<Attempt> {
  const { options, clock, screen, emit } = context;
  const { agent, mode, tree, child, signal } = launched;
  let ending: Promise<EndTreeResult> | undefined;
  let stoppedBy: NodeJS.Signals | undefined;
  const killNow = new AbortController();
  const endAgent = (by: 'SIGINT' | 'SIGTERM') => {
    ending ??= endTree(tree, clock, { signal: by, graceMs: options.graceMs, hurry: killNow.signal });
  };
  const accounting = startRunAccounting(context, launched, runTask, () => endAgent(signal));
  const finishAttempt = (end: AttemptEnd): Attempt => {
    launched.release();
    const how = end.how === 'ended' && end.code === 0 ? 'done' : 'error';
    return { ...accounting.finish(how, end.how === 'halted' ? end.halt : undefined), end };
  };
  if (!('pid' in child)) return finishAttempt({ how: 'not-started', ...child });

  const { task } = accounting;
  const outputReader = createOutputReader(context, agent, mode, (event) => accounting.feed(event));
  const stopListening = listenForSignals({
    terminal: context.terminal,
    ownsTerminal: mode === 'interactive',
    onStopRequest(by) {
      if (ending !== undefined) return killNow.abort();
      stoppedBy = by;
      if (by === 'SIGINT') screen.printLine('switchgear: ending the agent; press Ctrl-C again to kill it at once');
      endAgent(by === 'SIGINT' ? 'SIGINT' : signal);
    },
    onSuspend: () => accounting.pause(),
    onContinue: () => accounting.resume(),
  });
  const unsubscribe = context.gear.onEntry((entry) => {
    if (entry.task !== accounting.task.id) return;
    if (entry.type === 'task-stopped') {
      signalTree(tree, 'SIGSTOP');
      accounting.pause(); // The subagents are suspended with the agent.
    } else if (entry.type === 'task-resumed') {
      signalTree(tree, 'SIGCONT');
      accounting.resume();
    } else if (entry.type === 'task-halted' && !entry.enforced)
      screen.printLine(`switchgear: would halt it: ${entry.message}`);
  });
  emit('run', { type: 'run-started', task: task.id, session: task.session, agent: task.agent, pid: child.pid });
  child.read(outputReader.feed, screen.err);
  try {
    const exit = await child.exited;
    const endedTree = await ending;
    const maxDrainMs = endedTree === undefined ? Number.POSITIVE_INFINITY : haltedDrainMs;
    await child.drain(clock, maxDrainMs, () => tree.scan().length > 0);
    outputReader.end(ending === undefined);
    // Reads the last reports of hooks and orders before the result is final.
    accounting.poll();
    sweep(runtimeOf(context.gear));
    const ended = await ending; // The last printed line may have caused a halt.
    if (ended !== undefined) {
      launched.restoreTerminal();
      const { halt } = accounting;
      return finishAttempt(
        halt === undefined ? { how: 'stopped', by: stoppedBy!, ended } : { how: 'halted', halt, ended },
      );
    }
    return finishAttempt({ how: 'ended', code: exitCodeOf(exit), leftBehind: await countLeftBehind(tree, clock) });
  } finally {
    unsubscribe();
    stopListening();
  }
}

/** Counts processes that remain after the agent has ended, after a short wait for those that are ending. */
async function countLeftBehind(tree: ProcessTree, clock: Clock): Promise<number> {
  if (tree.scan().length === 0) return 0;
  await wait(clock, leftBehindMs);
  return tree.scan().length;
}
