/** Continues a halted, paused or lost run in this process, with its counters. */

import type { Card } from '../../core/card.ts';
import { SwitchgearError } from '../../core/error.ts';
import { toCamelCase } from '../../core/names.ts';
import { adoptHaltedTask } from '../../guard/internal.ts';
import type { Store } from '../../ports/store.ts';
import { deleteRun, openStoredRun, type RunRecord, type SubagentLimits } from '../../supervisor/run-record.ts';
import { keepHeapSmall } from '../../supervisor/small-heap.ts';
import type { Terminal } from '../command.ts';
import { readStoredSettings } from '../policy/stored-settings.ts';
import { planNextStart } from './attempts.ts';
import { loadRunPolicy } from './command.ts';
import type { FollowUp } from './halt-prompt.ts';
import { parseRunOptions, withMapping } from './options.ts';
import { runSession } from './session.ts';

/** Runs the stored run to its end and returns the exit code. */
export async function resumeRun(
  store: Store,
  storedRun: RunRecord,
  followUp: FollowUp,
  callerTerminal: Terminal,
): Promise<number> {
  const run = openStoredRun(store, storedRun);
  if (run.command.length === 0) {
    throw new SwitchgearError(
      'not_kept',
      'the store does not have the command line of the run, or cannot decrypt it: start the agent again',
    );
  }
  keepHeapSmall();
  const terminal = { ...callerTerminal, cwd: run.cwd };
  const parsedOptions = parseRunOptions([...run.options, '--', ...run.command], terminal);
  // The agent may have changed the policy file meanwhile.
  const earlier =
    run.policy === undefined
      ? undefined
      : { settings: await readStoredSettings(store, run.policy), atMs: run.startedMs ?? 0 };
  const policy = await loadRunPolicy(store, parsedOptions, terminal, earlier);
  const options = withMapping(parsedOptions, policy);
  const { agent, session, task, carried } = run;
  return runSession({
    store,
    options,
    terminal,
    policy,
    agent,
    session,
    begin({ gear }) {
      if (carried !== undefined) adoptHaltedTask(gear, run, carried);
      const answered = run.card === undefined ? undefined : store.card(run.card);
      const raised = { ...run, below: raiseBelow(run.below, answered) };
      const start = planNextStart({ followUp }, raised, gear.retryOptions(task), {
        parent: null,
        limits: options.limits,
      });
      if (start === undefined)
        throw new SwitchgearError('not_kept', 'the run cannot be resumed: start the agent again');
      deleteRun(store, task);
      return start;
    },
  });
}

/** The limits of subagents, with the one that the answer to the card of a subagent has set. */
function raiseBelow(below: SubagentLimits = {}, card: Card | undefined): SubagentLimits {
  const { agent = '', raise, raisedTo } = card ?? {};
  const limits = Object.hasOwn(below, agent) ? below[agent] : undefined;
  if (limits === undefined || raise === undefined || raisedTo === undefined) return below;
  const name = toCamelCase(raise.setting.slice('task.'.length));
  return { ...below, [agent]: { ...limits, [name]: Math.min(raisedTo, raise.max) } };
}
