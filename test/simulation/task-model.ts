/** What a task should count, told a second time and plainly: calls, money, refusals in a row, words, silence. */

export interface TaskLimits {
  readonly maxToolCalls: number;
  readonly maxSpendCents: number;
  readonly maxDurationSecs: number;
  readonly maxIdleSecs: number;
  readonly maxDenials: number;
}

export interface TaskModel {
  readonly id: string;
  readonly agent: string;
  readonly session: string;
  readonly parent: TaskModel | undefined;
  readonly said: Partial<TaskLimits>;
  limits: TaskLimits;
  readonly startedAtMs: number;
  calls: number;
  micros: number;
  reservedMicros: number;
  deniedInARow: number;
  /** The burst of the last refusal, and whether a call of it passed. */
  deniedTurn: { readonly name: string | undefined; hasPassed: boolean };
  /** Refusals of the same proposal since it last passed, with the time before which it makes no sense. */
  readonly denied: Map<number, { times: number; retryAtMs: number | undefined; turn: string | undefined }>;
  lastText: string | undefined;
  sameTexts: number;
  /** The same, counted anew after a call that ended in between: it may have brought something. */
  sameTextsInARow: number;
  /** How calls ended since a person last said something new: more than so few are needed to call it a loop. */
  readonly endings: Map<number, { successes: number; others: number }>;
  readonly prompts: Set<string>;
  signAtMs: number;
  /** Calls that are out, and until when they excuse silence: all of them until the longest time of any. */
  readonly out: Set<string | number>;
  outUntilMs: number;
  stops: number;
  /** Those of its own, not of a task below it. */
  ownStops: number;
  stoppedAtMs: number;
  stoppedMs: number;
  /** A worker below has failed too often. */
  mustHalt: boolean;
  halt: string | undefined;
  ended: boolean;
}

export function taskModel(
  given: Pick<TaskModel, 'id' | 'agent' | 'session' | 'parent' | 'said' | 'limits' | 'startedAtMs'>,
): TaskModel {
  return {
    ...given,
    calls: 0,
    micros: 0,
    reservedMicros: 0,
    deniedInARow: 0,
    deniedTurn: { name: undefined, hasPassed: false },
    denied: new Map(),
    lastText: undefined,
    sameTexts: 0,
    sameTextsInARow: 0,
    endings: new Map(),
    prompts: new Set(),
    signAtMs: given.startedAtMs,
    out: new Set(),
    outUntilMs: 0,
    stops: 0,
    ownStops: 0,
    stoppedAtMs: 0,
    stoppedMs: 0,
    mustHalt: false,
    halt: given.parent?.halt,
    ended: false,
  };
}

/** The task and everyone above it. */
export function lineOf(task: TaskModel | undefined): TaskModel[] {
  const line: TaskModel[] = [];
  for (let at = task; at !== undefined; at = at.parent) line.push(at);
  return line;
}

/** Something was heard of a task, and so of everyone above it. */
export function heard(task: TaskModel | undefined, atMs: number): void {
  for (const each of lineOf(task)) each.signAtMs = Math.max(each.signAtMs, atMs);
}

export function spent(task: TaskModel | undefined, micros: number): void {
  for (const each of lineOf(task)) each.micros += micros;
}

export function stopClocks(task: TaskModel, atMs: number): void {
  task.ownStops++;
  for (const each of lineOf(task)) if (each.stops++ === 0) each.stoppedAtMs = atMs;
}

export function startClocks(task: TaskModel, atMs: number): void {
  task.ownStops--;
  for (const each of lineOf(task)) if (--each.stops === 0) each.stoppedMs += atMs - each.stoppedAtMs;
}

export function durationMs(task: TaskModel, atMs: number): number {
  return atMs - task.startedAtMs - task.stoppedMs - (task.stops > 0 ? atMs - task.stoppedAtMs : 0);
}

export function silentMs(task: TaskModel, atMs: number): number {
  if (task.stops > 0) return 0;
  const excused = task.out.size === 0 ? 0 : Math.min(atMs, task.outUntilMs);
  return atMs - Math.max(task.signAtMs, excused);
}

/** The tasks below one that have not ended. */
export function below(tasks: Iterable<TaskModel>, task: TaskModel): TaskModel[] {
  return [...tasks].filter((each) => each !== task && !each.ended && lineOf(each).includes(task));
}
