/**
 * Counts the calls of a library program on the `switchgear run` around it. The run names a file in the environment, to
 * which every process below it appends one byte for each call and a line for each cost; the length of the file is the
 * number of calls of all of them. A program without such a variable has no part in this.
 */

import type { Action, Cost } from '../../core/action.ts';
import type { Control } from '../../core/control.ts';
import type { BoundControl } from '../../core/decide.ts';
import { allow, haltOverLimit, type Stop } from '../../core/verdict.ts';
import type { Budgets } from '../../ports/policy.ts';

/** The variable with the path of the file; beside it are `.limit`, written by the run, and `.spend`. */
export const runCallsVariable = 'SWITCHGEAR_RUN_CALLS';

/** Adds the count of the run to the budgets of a policy; returns the budgets unchanged where no run is above. */
export function withRunCalls(
  listed: Budgets | undefined,
  createEmpty: () => Budgets,
  env: Readonly<Record<string, string | undefined>>,
): Budgets | undefined {
  const path = env[runCallsVariable];
  const run = path ? openRunCalls(path) : undefined;
  if (run === undefined) return listed;
  const budgets = listed ?? createEmpty();
  return {
    setFor(gear, owner, target) {
      const own = budgets.setFor(gear, owner, target);
      return {
        ...own,
        boundControls: [run.bound, ...own.boundControls],
        reserve: (action, atMs, isGrowth) => own.reserve(action, atMs, isGrowth) ?? run.take(action),
      };
    },
    close: () => budgets.close(),
  };
}

interface RunCalls {
  readonly bound: BoundControl;
  take(action: Action): Stop | undefined;
}

const opened = new Map<string, RunCalls | undefined>();

/** Opens the files once per process; undefined if the run is gone. */
function openRunCalls(path: string): RunCalls | undefined {
  if (!opened.has(path)) opened.set(path, createRunCalls(path));
  return opened.get(path);
}

function createRunCalls(path: string): RunCalls | undefined {
  const fs = process.getBuiltinModule('node:fs');
  const { O_APPEND, O_NONBLOCK = 0, O_WRONLY } = fs.constants;
  const open = (name: string) => fs.openSync(name, O_WRONLY | O_APPEND | O_NONBLOCK);
  let calls: number;
  let spend: number;
  try {
    calls = open(path);
    spend = open(`${path}.spend`);
    if (!fs.fstatSync(calls).isFile()) return undefined;
  } catch {
    return undefined; // The run has ended, or its files are out of reach.
  }
  let limit: number | undefined;
  /** The call that was counted before the decision of all controls, and calls that were counted and then waited. */
  let taken: Action['id'] | undefined;
  let credit = 0;
  let counted = 0;

  /** Counts a call; returns the number of calls of all processes below the run, even if the file was shortened. */
  function count(): number {
    if (credit > 0) credit--;
    else {
      fs.writeSync(calls, '.');
      counted++;
    }
    counted = Math.max(counted, fs.fstatSync(calls).size);
    return counted;
  }

  const control: Control<null> = {
    name: 'budget',
    scope: 'gear',
    initial: () => null,
    judge: () => allow,
    apply(state, event) {
      if (event.type === 'action-decided' && event.action.kind !== 'model') {
        const isOpen = event.verdict.kind === 'wait' || event.verdict.kind === 'ask';
        if (event.action.id === taken) credit += isOpen ? 1 : 0;
        else if (!isOpen) count(); // A call that another control refused counts as proposed.
        taken = undefined;
      }
      const cost: Cost | undefined = 'cost' in event ? event.cost : undefined;
      if (cost !== undefined && (cost.micros > 0 || cost.tokens > 0))
        fs.writeSync(spend, `${Math.ceil(cost.micros)} ${Math.ceil(cost.tokens)}\n`);
      return state;
    },
  };
  return {
    bound: { control, cell: { state: null }, cellOwner: 'self' },
    take(action) {
      if (action.kind === 'model') return undefined;
      limit ??= readLimit(`${path}.limit`);
      const actual = count();
      taken = action.id;
      if (actual <= limit) return undefined;
      const kind = action.task === undefined ? 'deny' : 'halt';
      const reason = `tool calls below switchgear run: ${actual} of ${limit}`;
      return { ...haltOverLimit('budget', 'tool_call_limit', actual, limit), kind, reason };
    },
  };
}

/** A program waits this long for the run above it to tell its limit. */
const runLimitWaitMs = 1_000;

/** Reads the calls that are left to the run. The run writes them while this program starts, so they are waited for. */
function readLimit(path: string): number {
  const { readFileSync } = process.getBuiltinModule('node:fs');
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let waitedMs = 0; waitedMs <= runLimitWaitMs; waitedMs += 5) {
    try {
      const limit = Number(readFileSync(path, 'utf8'));
      if (Number.isSafeInteger(limit)) return limit;
    } catch {
      // Not written yet.
    }
    Atomics.wait(pause, 0, 0, 5);
  }
  return Number.POSITIVE_INFINITY; // The run still counts the calls, and ends the program.
}
