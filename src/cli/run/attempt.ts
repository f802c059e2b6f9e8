/** One attempt of an agent: watched, passed on, and ended when its task is halted or somebody wants it to end. */

import { haltedDrainMs, leftBehindMs } from '../../core/limits.ts';
import type { Refusal } from '../../core/refusal.ts';
import { runtimeOf } from '../../guard/runtime/runtime.ts';
import { sweep } from '../../guard/tasks/sweep.ts';
import { wait } from '../../platform/system-clock.ts';
import type { Clock } from '../../ports/clock.ts';
import { codeOf } from '../../supervisor/child.ts';
import { type Ended, endTree, stopOrGo } from '../../supervisor/end-tree.ts';
import type { ProcessTree } from '../../supervisor/process-tree.ts';
import { type Booked, type RunTask, runBooking } from './accounting.ts';
import type { RunWorld } from './context.ts';
import type { Launched } from './launch.ts';
import { runFeed } from './output-reader.ts';
import { listenOutside } from './signals.ts';

/** How an attempt ended. */
export type End =
  | { readonly how: 'ended'; readonly code: number; readonly leftBehind: number }
  | { readonly how: 'halted'; readonly halt: Refusal; readonly ended: Ended }
  | { readonly how: 'stopped'; readonly by: NodeJS.Signals; readonly ended: Ended }
  | { readonly how: 'not-started'; readonly code: 126 | 127; readonly message: string };

export interface Attempt extends Booked {
  readonly end: End;
}

export async function attempt(world: RunWorld, launched: Launched, runTask: RunTask): Promise<Attempt> {
  const { options, clock, screen, emit } = world;
  const { agent, way, tree, watchdog, child, signal } = launched;
  let ending: Promise<Ended> | undefined;
  let stoppedBy: NodeJS.Signals | undefined;
  const hurry = new AbortController();
  const endAll = (by: 'SIGINT' | 'SIGTERM') => {
    ending ??= endTree(tree, clock, { signal: by, graceMs: options.graceMs, hurry: hurry.signal });
  };
  const booking = runBooking(world, launched, runTask, () => endAll(signal));
  const done = (end: End): Attempt => {
    watchdog.dismiss();
    const how = end.how === 'ended' && end.code === 0 ? 'done' : 'error';
    return { ...booking.finish(how, end.how === 'halted' ? end.halt : undefined), end };
  };
  if (!('pid' in child)) return done({ how: 'not-started', ...child });

  const { task } = booking;
  const feed = runFeed(world, agent, way, booking.tell);
  const forgetOutside = listenOutside({
    terminal: world.terminal,
    ownsTerminal: way === 'interactive',
    ask(by) {
      if (ending !== undefined) return hurry.abort();
      stoppedBy = by;
      if (by === 'SIGINT') screen.say('switchgear: ending the agent; press Ctrl-C again to kill it at once');
      endAll(by === 'SIGINT' ? 'SIGINT' : signal);
    },
    sleep: booking.pause,
    wake: booking.resume,
  });
  const forgetEntries = world.gear.on((entry) => {
    if (entry.task !== booking.task.id) return;
    if (entry.type === 'task-stopped') {
      stopOrGo(tree, 'SIGSTOP');
      booking.pause(); // Its subagents stand still with it.
    } else if (entry.type === 'task-resumed') {
      stopOrGo(tree, 'SIGCONT');
      booking.resume();
    } else if (entry.type === 'task-halted' && !entry.enforced)
      screen.say(`switchgear: would halt it: ${entry.message}`);
  });
  emit('run', { type: 'run-started', task: task.id, session: task.session, agent: task.agent, pid: child.pid });
  child.read(feed.take, screen.err);
  try {
    const exit = await child.exited;
    const asked = await ending;
    const mostMs = asked === undefined ? Number.POSITIVE_INFINITY : haltedDrainMs;
    await child.drained(clock, mostMs, () => tree.look().length > 0);
    feed.end(ending === undefined);
    // What a hook of the agent or an operator said last may not have been heard of yet.
    booking.look();
    sweep(runtimeOf(world.gear));
    const ended = await ending; // The last line that it printed may have been one too many.
    if (ended !== undefined) {
      launched.restoreTerminal();
      const { halt } = booking;
      return done(halt === undefined ? { how: 'stopped', by: stoppedBy!, ended } : { how: 'halted', halt, ended });
    }
    return done({ how: 'ended', code: codeOf(exit), leftBehind: await leftBehind(tree, clock) });
  } finally {
    forgetEntries();
    forgetOutside();
  }
}

/** Processes that stay when the agent has ended; those that are about to end, too, are given a moment. */
async function leftBehind(tree: ProcessTree, clock: Clock): Promise<number> {
  if (tree.look().length === 0) return 0;
  await wait(clock, leftBehindMs);
  return tree.look().length;
}
