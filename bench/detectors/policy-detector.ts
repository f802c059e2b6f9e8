/** Our policies as a watching surface: everything goes through the gear that users have, and nothing is enforced. */

import type { Action } from '../../src/core/action.ts';
import { fingerprint } from '../../src/guard/runtime/fingerprint.ts';
import { runtimeOf } from '../../src/guard/runtime/runtime.ts';
import { createSwitchgear, type Switchgear, type Task } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';
import type { Detector, Watch } from './detector.ts';
import { hasCalls, type Run, type RunEvent, wholeText } from './runs.ts';

/** A detector that is a policy. */
export function createPolicyDetector(name: string, policy: Readonly<Record<string, unknown>>): Detector {
  const gear = createSwitchgear({ policy, clock: simulatedClock(), log: 'silent', env: {} });
  const nudged = new Set<string>();
  gear.onEntry((entry) => {
    if (entry.type === 'loop-suspected') nudged.add(entry.task!);
  });
  return { name, watch: (run) => watchRun(gear, run, nudged) };
}

function watchRun(gear: Switchgear, run: Run, nudged: Set<string>): Watch {
  const task = openTask(gear);
  let denied = false;
  return {
    see(event, index) {
      if (event.type === 'tool_call') denied ||= wouldRefuse(gear, task, event);
      const halt = task.observe(makeObservation(run, event, index));
      if (halt !== undefined || index === run.events.length - 1) task.end();
      return halt !== undefined;
    },
    get nudged() {
      return nudged.has(task.id);
    },
    get denied() {
      return denied;
    },
    get code() {
      return task.halt?.code ?? '';
    },
  };
}

/** A task that stays open: the run is fed to it from outside. */
function openTask(gear: Switchgear): Task {
  let opened: Task | undefined;
  void gear.task({}, (task) => {
    opened = task;
    return new Promise<void>((resolve) => task.signal.addEventListener('abort', () => resolve()));
  });
  return opened!;
}

/** Whether a gate would have refused the call. */
function wouldRefuse(gear: Switchgear, task: Task, { name, args }: Extract<RunEvent, { type: 'tool_call' }>): boolean {
  const node = runtimeOf(gear).tasks.get(task.id);
  const { loop } = node!.controls;
  const action = { kind: 'tool', name, fingerprint: fingerprint(name, args) } as Action;
  return loop?.judge(node!.cells.loop!.state, { type: 'action-proposed', atMs: 0, action }, 'self').kind === 'deny';
}

export function makeObservation(run: Run, event: RunEvent, index: number): Parameters<Task['observe']>[0] {
  switch (event.type) {
    case 'assistant':
      return { type: 'assistant', text: event.text, toolUse: hasCalls(run, index) };
    case 'user':
      return { type: 'user', text: wholeText(event) };
    case 'tool_call':
      return { type: 'tool_use', id: event.id, name: event.name, input: event.args };
    case 'tool_result':
      return { type: 'tool_result', id: event.id, ok: event.ok, output: wholeText(event) };
  }
}
