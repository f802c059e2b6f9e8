/** Our policies as a watching surface: everything goes through the gear that users have, and nothing is enforced. */

import type { Action } from '../../src/core/action.ts';
import type { Card } from '../../src/core/card.ts';
import { fingerprint } from '../../src/guard/runtime/fingerprint.ts';
import { runtimeOf } from '../../src/guard/runtime/runtime.ts';
import { createSwitchgear, type Switchgear, type Task } from '../../src/index.ts';
import { simulatedClock } from '../../src/testing/index.ts';
import type { Detector, Watch } from './detector.ts';
import { hasCalls, type Run, type RunEvent, wholeText } from './runs.ts';

/** The tasks whose model got a hint, and of which a person got a card. */
type Told = Readonly<Record<'nudged' | 'carded', Set<string>>>;

/** Whether a card tells of a suspected loop and holds nothing. */
const isSuspicion = ({ kind, counters }: Card) => kind === 'notice' && counters.evidence !== undefined;

/** A detector that is a policy. */
export function createPolicyDetector(name: string, policy: Readonly<Record<string, unknown>>): Detector {
  const gear = createSwitchgear({ policy, clock: simulatedClock(), log: 'silent', env: {} });
  const told: Told = { nudged: new Set(), carded: new Set() };
  gear.onEntry((entry) => {
    if (entry.type === 'loop-suspected') told.nudged.add(entry.task!);
    if (entry.type === 'card-changed' && isSuspicion(entry.card)) told.carded.add(entry.task!);
  });
  return { name, isPolicy: true, watch: (run) => watchRun(gear, run, told) };
}

function watchRun(gear: Switchgear, run: Run, { nudged, carded }: Told): Watch {
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
    get carded() {
      return carded.has(task.id);
    },
    get denied() {
      return denied;
    },
    get code() {
      return task.halt?.code ?? '';
    },
    get counters() {
      return task.halt?.counters ?? {};
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
      return { type: 'tool_use', id: event.id, name: event.name, input: readArguments(event) };
    case 'tool_result':
      return { type: 'tool_result', id: event.id, ok: event.ok, output: wholeText(event) };
  }
}

const inputs = new WeakMap<RunEvent, unknown>();

/** The arguments of a call as a surface gets them: parsed, if they are JSON; once for each event. */
function readArguments(event: Extract<RunEvent, { type: 'tool_call' }>): unknown {
  if (!inputs.has(event)) inputs.set(event, parse(event.args));
  return inputs.get(event);
}

function parse(args: string): unknown {
  try {
    return JSON.parse(args);
  } catch {
    return args;
  }
}
