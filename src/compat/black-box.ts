/**
 * The session breaker of Black Box under its own names: observes the events of a session and reports when a task must
 * stop.
 */

import { microsPerCent } from '../core/controls/budget/budget.ts';
import { cleanLine } from '../core/foreign-text.ts';
import { nameLengthMax } from '../core/limits.ts';
import { toMicros } from '../core/prices/builtin-prices.ts';
import type { Settings } from '../core/settings.ts';
import type { Switchgear, SwitchgearOptions, Task } from '../guard/api.ts';
import { createSwitchgear } from '../guard/create-switchgear.ts';
import { runtimeOf, sweep } from '../guard/internal.ts';
import { checkPolicy } from '../policy/check/check-policy.ts';
import { applyEnvironment } from '../policy/environment.ts';
import { type HaltReason, haltReasonOf, haltSlug } from './halt-reason.ts';
import { type SessionEvent, toObservation } from './session-event.ts';

/** The limits of a session breaker. */
export interface BreakerConfig {
  readonly maxToolCallsPerTask: number;
  readonly maxTokenSpendCentsPerTask: number;
  readonly maxTaskDurationSecs: number;
  readonly maxIdleSecs: number;
  readonly similarityJaccardThreshold: number;
}

/** The production defaults. */
export const DEFAULT_BREAKER_CONFIG: BreakerConfig = Object.freeze({
  maxToolCallsPerTask: 50,
  maxTokenSpendCentsPerTask: 5000,
  maxTaskDurationSecs: 1800,
  maxIdleSecs: 300,
  similarityJaccardThreshold: 0.95,
});

/** Options of a session breaker. */
export interface SessionBreakerOptions extends Pick<SwitchgearOptions, 'clock' | 'prices' | 'env' | 'log'> {
  /**
   * Called once per halted task, by whichever event or sweep found it.
   * @default none
   */
  readonly onHalt?: (taskId: string, halt: HaltReason) => void;
}

/** A halted task and its reason. */
export interface TaskHalt {
  readonly taskId: string;
  readonly halt: HaltReason;
}

/** The counts of one active task. */
export interface SessionTaskSnapshot {
  readonly taskId: string;
  readonly toolCalls: number;
  readonly tokenSpendCents: number;
  readonly durationSecs: number;
  readonly idleSecs: number;
  readonly halt: HaltReason | null;
}

/** The state of a session breaker. */
export interface SessionSnapshot {
  /** Ids of the active tasks; events without an id belong to the last of them. */
  readonly activeTasks: readonly string[];
  readonly tasks: readonly SessionTaskSnapshot[];
  /** Events of an unknown kind, or of no active task. */
  readonly ignoredEvents: number;
  readonly internalErrors: number;
}

/**
 * Of the loop control only the comparison of outputs in a row can halt a task (R39): results are not observed.
 */
const outputLoopOnly = { loop: { row_across_outputs: false } };

const prefix = 'BB_CIRCUIT_BREAKER_';
const variables: Readonly<Record<keyof BreakerConfig, string>> = {
  maxToolCallsPerTask: `${prefix}TOOL_CAP`,
  maxTokenSpendCentsPerTask: `${prefix}COST_CAP_CENTS`,
  maxTaskDurationSecs: `${prefix}DURATION_SECS`,
  maxIdleSecs: `${prefix}IDLE_SECS`,
  similarityJaccardThreshold: `${prefix}JACCARD`,
};

type Environment = Readonly<Record<string, string | undefined>>;
type Warn = (line: string) => void;

/** Reads the config from the environment. An invalid value falls back to the default, with one warning each. */
export function configFromEnv(env: Environment = process.env, warn: Warn = toStandardError): BreakerConfig {
  const { settings, ignored } = applyEnvironment(checkPolicy({}), selectSeedVariables(env));
  for (const { message } of ignored) warn(message);
  return configOf(settings);
}

interface Bucket {
  readonly taskId: string;
  readonly task: Task;
  halt: HaltReason | null;
  /** Whether a call has returned the halt already. */
  isReported: boolean;
}

/** Counts per task, in a gear of its own in which only budget, deadline and the output loop are active. */
export class SessionBreaker {
  readonly config: BreakerConfig;
  readonly #gear: Switchgear;
  readonly #byModel: boolean;
  readonly #buckets = new Map<string, Bucket>();
  /** Active tasks in the order in which they started. */
  readonly #stack: Bucket[] = [];
  #ignored = 0;
  #errors = 0;

  /** Config values override the environment; an invalid value is replaced by the default, with a warning. */
  constructor(config: Partial<BreakerConfig> = {}, options: SessionBreakerOptions = {}) {
    const { clock, prices, env, log, onHalt } = options ?? {};
    this.#byModel = prices !== undefined;
    this.#gear = createSwitchgear({
      mode: 'enforce',
      // A checked policy carries its parser along, also into a bundle.
      policy: checkPolicy(outputLoopOnly),
      env: { ...selectSeedVariables(env ?? process.env), ...toVariables(config) },
      ...(clock && { clock }),
      ...(prices && { prices }),
      ...(log && { log }),
    });
    this.config = configOf(this.#gear.settings);
    if (onHalt === undefined) return;
    this.#gear.onEntry((entry) => {
      if (entry.type !== 'task-halted') return undefined;
      const bucket = this.#stack.find(({ task }) => task.id === entry.task);
      const halt = bucket && readHalt(bucket);
      return halt && onHalt(bucket.taskId, halt); // The gear catches the rejection of an async callback.
    });
  }

  /** Observes one event. Returns the halt of its task, always the same one, or null. */
  observe(event: SessionEvent): HaltReason | null {
    return this.#guarded(null, () => {
      const bucket = this.#applyEvent(event);
      if (bucket === undefined) return null;
      const halt = readHalt(bucket);
      if (halt !== null) bucket.isReported = true;
      return halt;
    });
  }

  /** Checks for tasks past their duration or idle limit. Returns the halts that no call has returned yet. */
  sweep(nowMs?: number): readonly TaskHalt[] {
    return this.#guarded([], () => {
      sweep(runtimeOf(this.#gear), Number.isFinite(nowMs) ? nowMs : undefined);
      return this.#stack.flatMap((bucket) => {
        const halt = bucket.isReported ? null : readHalt(bucket);
        if (halt === null) return [];
        bucket.isReported = true;
        return [{ taskId: bucket.taskId, halt }];
      });
    });
  }

  snapshot(): SessionSnapshot {
    const internalErrors = this.#errors + this.#guarded(0, () => this.#gear.snapshot().internalErrors);
    return {
      activeTasks: this.#stack.map(({ taskId }) => taskId),
      tasks: this.#guarded([], () => this.#stack.map(snapshotOf)),
      ignoredEvents: this.#ignored,
      internalErrors,
    };
  }

  /** The machine-readable name of a halt, e.g. `tool_call_limit`; empty for any other value. */
  slugOf(halt: HaltReason): string {
    return this.#guarded('', () => haltSlug(halt));
  }

  /** Ends every task and its timer. */
  dispose(): void {
    this.#guarded(undefined, () => {
      this.#stack.length = 0;
      this.#buckets.clear();
      this.#gear.dispose();
    });
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Applies an event and returns the task it belongs to. */
  #applyEvent(event: SessionEvent): Bucket | undefined {
    if (typeof event !== 'object' || event === null) {
      this.#ignored++;
      return undefined;
    }
    const id = readTaskId(event.taskId);
    const bucket = id === undefined ? this.#stack.at(-1) : this.#buckets.get(id);
    if (event.type === '[heartbeat]' || event.type === 'heartbeat') {
      if (event.phase === 'starting' && id !== undefined && bucket === undefined) return this.#start(id);
      if (event.phase === 'done' || event.phase === 'error') {
        this.#end(id === undefined ? undefined : bucket, event.phase);
        return undefined;
      }
    }
    const observation = toObservation(event, this.#byModel);
    if (bucket === undefined || observation === undefined) {
      this.#ignored++;
      return undefined;
    }
    bucket.task.observe(observation);
    return bucket;
  }

  #start(taskId: string): Bucket {
    const options = taskId !== '' && taskId.length <= nameLengthMax ? { id: taskId } : {};
    const bucket: Bucket = {
      taskId,
      task: this.#gear.startTask({ ...options, parent: null }),
      halt: null,
      isReported: false,
    };
    this.#buckets.set(taskId, bucket);
    this.#stack.push(bucket);
    return bucket;
  }

  #end(bucket: Bucket | undefined, how: 'done' | 'error'): void {
    if (bucket === undefined) {
      this.#ignored++;
      return;
    }
    this.#buckets.delete(bucket.taskId);
    this.#stack.splice(this.#stack.indexOf(bucket), 1);
    bucket.task.end(how);
  }

  /** Keeps an error of this class away from the host: the error is counted, and the snapshot shows the count. */
  #guarded<T>(otherwise: T, run: () => T): T {
    try {
      return run();
    } catch {
      this.#errors++;
      return otherwise;
    }
  }
}

function readHalt(bucket: Bucket): HaltReason | null {
  bucket.halt ??= bucket.task.halt === undefined ? null : haltReasonOf(bucket.task.halt);
  return bucket.halt;
}

function snapshotOf(bucket: Bucket): SessionTaskSnapshot {
  const { toolCalls, spendUsd, durationMs, idleMs } = bucket.task.snapshot();
  return {
    taskId: bucket.taskId,
    toolCalls,
    tokenSpendCents: toMicros(spendUsd) / microsPerCent,
    durationSecs: Math.floor(durationMs / 1000),
    idleSecs: Math.floor(idleMs / 1000),
    halt: readHalt(bucket),
  };
}

function readTaskId(taskId: unknown): string | undefined {
  return typeof taskId === 'string' || typeof taskId === 'number' ? String(taskId) : undefined;
}

function configOf({ task, loop }: Settings): BreakerConfig {
  return Object.freeze({
    maxToolCallsPerTask: task.maxToolCalls,
    maxTokenSpendCentsPerTask: task.maxSpendCents,
    maxTaskDurationSecs: task.maxDurationSecs,
    maxIdleSecs: task.maxIdleSecs,
    similarityJaccardThreshold: loop.similarityJaccardThreshold,
  });
}

/** Selects the variables of Black Box; other variables belong to other gears. */
function selectSeedVariables(env: Environment): Environment {
  return Object.fromEntries(
    Object.entries(env ?? {}).filter(([name, value]) => name.startsWith(prefix) && typeof value === 'string'),
  );
}

/** Converts a config to variables, so that one checker reads both. */
function toVariables(config: Partial<BreakerConfig>): Environment {
  const entries = Object.entries(variables).flatMap(([field, name]) => {
    const value = readField(config, field as keyof BreakerConfig);
    return value === undefined ? [] : [[name, typeof value === 'number' ? String(value) : 'no number']];
  });
  return Object.fromEntries(entries);
}

function readField(config: Partial<BreakerConfig> | null, field: keyof BreakerConfig): unknown {
  try {
    return config?.[field];
  } catch {
    return null; // The variable is set but unreadable: report it as not a number.
  }
}

function toStandardError(line: string): void {
  process.stderr.write(`${cleanLine(line)}\n`);
}
