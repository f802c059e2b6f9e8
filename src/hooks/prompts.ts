/** Begins the task of a prompt, at once or as soon as it is clear that a person typed the prompt. */

import type { Card } from '../core/card.ts';
import { earlyPromptsMax } from '../core/limits.ts';
import { openCard } from '../guard/internal.ts';
import { beginPromptTask, type HookContext } from './session/hook-tasks.ts';
import type { LockedSession } from './session/session-lock.ts';
import { hasPromptSince } from './transcript-prompts.ts';

/** Ends the current task and starts that of a prompt; later prompts follow `promptBytes` of the session file. */
export async function beginNextTask(context: HookContext, session: LockedSession, promptBytes?: number): Promise<void> {
  const { early: _, ...state } = session.state;
  const { task, agents, older, transcript } = state;
  session.state = { ...state, ...(transcript && { transcript: { ...transcript, promptBytes } }) };
  if (task !== null) {
    // The previous task ends, unless it has running subagents.
    const isOut = Object.values(agents).some(({ root }) => root === task);
    if (isOut) session.state = { ...session.state, older: [...older, task] };
    else await session.endTask(task, 'done');
  }
  beginPromptTask(context, session);
}

/** Decides on a prompt that was not clear: begins its task before the next call, or drops it. */
export async function settleEarlyPrompt(
  context: HookContext,
  session: LockedSession,
  by: 'call-proposed' | 'call-ended',
): Promise<void> {
  const { early } = session.state;
  if (early?.isPending !== true) return;
  const path = session.state.transcript?.path;
  const isWritten = early.atBytes === null || path === undefined ? undefined : hasPromptSince(path, early.atBytes);
  const isTyped: boolean = isWritten ?? by === 'call-proposed';
  if (isTyped) {
    if (by === 'call-ended') return; // The task begins with the next call.
    await beginNextTask(context, session, early.atBytes ?? undefined);
    return;
  }
  const looks = (early.looks ?? 0) + 1;
  // The host may write its file a little later.
  const isPending = isWritten === false && by === 'call-proposed' && looks < earlyPromptsMax;
  const dropped = isPending ? early.dropped : early.dropped + 1;
  session.state = { ...session.state, early: { ...early, isPending, looks, dropped } };
  if (dropped >= earlyPromptsMax) reportDroppedPrompts(context, session);
}

function reportDroppedPrompts({ runtime, session: name }: HookContext, { state }: LockedSession): void {
  const id = `card-prompts-${name}`;
  if (runtime.store.card(id) !== undefined) return;
  const card: Card = {
    ...{ id, kind: 'notice', task: state.task ?? name, code: 'notice', counters: {} },
    evidence: ['prompts were reported that no person seems to have typed; they began no new task'],
    actions: ['dismiss'],
    state: 'open',
  };
  openCard(runtime, card, undefined, runtime.clock.nowMs());
}
