/** Runs one attempt of an agent: passes its output on, watches its task, and ends the process on a halt. */

import { haltedDrainMs } from '../../core/limits.ts';
import type { Refusal } from '../../core/refusal.ts';
import { applyOrdersSince, runtimeOf, sweep } from '../../guard/internal.ts';
import { wait } from '../../platform/system-clock.ts';
import type { Clock } from '../../ports/clock.ts';
import { type Child, exitCodeOf } from '../../supervisor/child.ts';
import { type EndTreeResult, endTree, signalTree } from '../../supervisor/end-tree.ts';
import { handleLeftBehind, type LeftBehind } from '../../supervisor/left-behind.ts';
import type { WatchdogNews } from '../../supervisor/watchdog.ts';
import type { RunGateway } from '../gateway/run-gateway.ts';
import { type AttemptSummary, type RunTask, startRunAccounting } from './accounting.ts';
import type { RunCommandContext } from './context.ts';
import type { LaunchedRun } from './launch.ts';
import { createOutputReader } from './output-reader.ts';
import { listenForSignals } from './signals.ts';

/** How an attempt ended. */
export type AttemptEnd =
  | {
      readonly how: 'ended';
      readonly code: number;
      /** The programs that the agent left running, and the limit that ended them, if any. */
      readonly leftBehind: LeftBehind | undefined;
      readonly limit: string | undefined;
    }
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
  gateway?: RunGateway,
): Promise<Attempt> {
  const { options, clock, screen, emit } = context;
  const { agent, mode, tree, child, signal } = launched;
  let ending: Promise<EndTreeResult> | undefined;
  let stoppedBy: NodeJS.Signals | undefined;
  const killNow = new AbortController();
  const isEnding = new AbortController();
  const { graceMs } = options;
  const endProcesses = (by: 'SIGINT' | 'SIGTERM') =>
    endTree(tree, clock, { signal: by, graceMs, hurry: killNow.signal });
  const endAgent = (by: 'SIGINT' | 'SIGTERM') => {
    isEnding.abort();
    ending ??= endProcesses(by);
  };
  /** An agent before the gateway gets a closing answer, and the time to end by itself. */
  const endByHalt = () => {
    if (gateway?.isMetering !== true || !('pid' in child)) return endAgent(signal);
    isEnding.abort();
    ending ??= waitForExit(child, clock, graceMs, killNow.signal).then(() => endProcesses(signal));
  };
  const isMetered = () => gateway?.isMetering === true;
  const accounting = startRunAccounting(context, launched, runTask, { onHalt: endByHalt, isMetered });
  gateway?.serve(accounting);
  const finishAttempt = (end: AttemptEnd): Attempt => {
    accounting.closeLibrary(); // Its files are deleted next.
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
  launched.watchdog.listen((news) => {
    screen.printLine(`switchgear: ${watchdogTexts[news]}`);
    emit('run', { type: `watchdog-${news}` });
  });
  emit('run', { type: 'run-started', task: task.id, session: task.session, agent: task.agent, pid: child.pid });
  applyOrdersSince(context.gear, task.id, launched.orderedSinceMs);
  child.read(outputReader.feed, screen.err);
  try {
    const exit = await child.exited;
    const mode = options.observe ? 'leave' : options.leftBehind; // Observing ends nothing.
    const wait = { mode, graceMs: options.graceMs, stop: isEnding.signal, ended: () => ending } as const;
    const leftBehind = ending === undefined ? await handleLeftBehind(tree, clock, wait) : undefined;
    const endedTree = await ending;
    const maxDrainMs = endedTree === undefined ? Number.POSITIVE_INFINITY : haltedDrainMs;
    await child.drain(clock, maxDrainMs, () => tree.scan().length > 0);
    outputReader.end(ending === undefined);
    // Reads the last reports of hooks and orders before the result is final.
    accounting.poll(true);
    sweep(runtimeOf(context.gear));
    const ended = await ending; // The last printed line may have caused a halt.
    // A limit that ends what the agent has left running does not change how the agent ended.
    const isAgents = ended !== undefined && (leftBehind === undefined || stoppedBy !== undefined);
    if (isAgents) {
      launched.restoreTerminal();
      const { halt } = accounting;
      return finishAttempt(
        halt === undefined ? { how: 'stopped', by: stoppedBy!, ended } : { how: 'halted', halt, ended },
      );
    }
    const limit = accounting.halt?.explanation;
    return finishAttempt({ how: 'ended', code: exitCodeOf(exit), leftBehind, limit });
  } finally {
    unsubscribe();
    stopListening();
  }
}

/** Waits until the agent has ended, for a limited time. */
async function waitForExit({ exited }: Child, clock: Clock, maxMs: number, hurry: AbortSignal): Promise<void> {
  const isOver = new AbortController();
  void exited.then(() => isOver.abort());
  await wait(clock, maxMs, AbortSignal.any([isOver.signal, hurry]));
}

const watchdogTexts: Readonly<Record<WatchdogNews, string>> = {
  missing: 'the system could not start the watchdog of this run; trying again',
  replaced: 'the watchdog of this run was ended from outside; another one has taken its place',
  continued: 'this process was suspended from outside while the agent ran on; the watchdog has continued it',
  ended: 'this process was suspended from outside or did not respond, so the watchdog has ended the agent',
};
