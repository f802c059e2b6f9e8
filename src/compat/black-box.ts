/** Black Box's session breaker, by its own name: it watches a session's stream and says when a task must stop. */

import { nameLengthMax } from '../core/limits.ts';
import type { Settings } from '../core/settings.ts';
import type { Switchgear, SwitchgearOptions, Task } from '../guard/api.ts';
import { createSwitchgear } from '../guard/create-switchgear.ts';
import { runtimeOf, sweep } from '../guard/internal.ts';
import { checkPolicy } from '../policy/check/check-policy.ts';
import { applyEnvironment } from '../policy/environment.ts';
import { type HaltReason, haltReasonOf, haltSlug } from './halt-reason.ts';
import { type SessionEvent, toObservation } from './session-event.ts';

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

export interface SessionBreakerOptions extends Pick<SwitchgearOptions, 'clock' | 'prices' | 'env' | 'log'> {
  /** Called once per halted task, by whichever event or sweep found it. */
  readonly onHalt?: (taskId: string, halt: HaltReason) => void;
}

export interface TaskHalt {
  readonly taskId: string;
  readonly halt: HaltReason;
}

export interface SessionTaskSnapshot {
  readonly taskId: string;
  readonly toolCalls: number;
  readonly tokenSpendCents: number;
  readonly durationSecs: number;
  readonly idleSecs: number;
  readonly halt: HaltReason | null;
}

export interface SessionSnapshot {
  /** Ids of the active tasks; the last one gets what carries no id. */
  readonly activeTasks: readonly string[];
  readonly tasks: readonly SessionTaskSnapshot[];
  /** Events that belonged to no active task, or were none of the known kinds. */
  readonly ignoredEvents: number;
  readonly internalErrors: number;
}

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

/** The config that the environment asks for. What it says badly stays at the default, with one warning each. */
export function configFromEnv(env: Environment = process.env, warn: Warn = toStandardError): BreakerConfig {
  const { settings, ignored } = applyEnvironment(checkPolicy({}), selectSeedVariables(env));
  for (const { message } of ignored) warn(message);
  return configOf(settings);
}

interface Bucket {
  readonly taskId: string;
  readonly task: Task;
  halt: HaltReason | null;
  /** Whether the halt was handed back by a call. */
  isReported: boolean;
}

/** Counts per task, in a gear of its own where nothing but budget, deadline and the output loop can speak. */
export class SessionBreaker {
  readonly config: BreakerConfig;
  readonly #gear: Switchgear;
  readonly #byModel: boolean;
  readonly #buckets = new Map<string, Bucket>();
  /** Active tasks in the order in which they started. */
  readonly #stack: Bucket[] = [];
  #ignored = 0;
  #errors = 0;

  /** Config values go before the environment's; a bad one is replaced by the default, and told. */
  constructor(config: Partial<BreakerConfig> = {}, options: SessionBreakerOptions = {}) {
    const { clock, prices, env, log, onHalt } = options ?? {};
    this.#byModel = prices !== undefined;
    this.#gear = createSwitchgear({
      mode: 'enforce',
      // A checked policy brings its reader along, also into a bundle.
      policy: checkPolicy({}),
      env: { ...selectSeedVariables(env ?? process.env), ...toVariables(config) },
      ...(clock && { clock }),
      ...(prices && { prices }),
      ...(log && { log }),
    });
    this.config = configOf(this.#gear.settings);
    if (onHalt === undefined) return;
    this.#gear.onEntry((entry) => {
      if (entry.type !== 'task-halted') return;
      const bucket = this.#stack.find(({ task }) => task.id === entry.task);
      const halt = bucket && readHalt(bucket);
      if (halt) onHalt(bucket.taskId, halt);
    });
  }

  /** Takes one event; a halt comes back once its task has one, and stays the same. */
  observe(event: SessionEvent): HaltReason | null {
    return this.#guarded(null, () => {
      const bucket = this.#applyEvent(event);
      if (bucket === undefined) return null;
      const halt = readHalt(bucket);
      if (halt !== null) bucket.isReported = true;
      return halt;
    });
  }

  /** Looks for tasks that ran too long or went silent, and gives back halts that no call has given back yet. */
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

  /** The machine's word for a halt, e.g. `tool_call_limit`; empty for what is none. */
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

  /** The task that an event was about, after it has been told. */
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

  /** A bug in here must not reach the host: it is counted, and the snapshot shows it. */
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
  const { toolCalls, spendCents, durationMs, idleMs } = bucket.task.snapshot();
  return {
    taskId: bucket.taskId,
    toolCalls,
    tokenSpendCents: spendCents,
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

/** The variables of the seed alone; others belong to other gears. */
function selectSeedVariables(env: Environment): Environment {
  return Object.fromEntries(
    Object.entries(env ?? {}).filter(([name, value]) => name.startsWith(prefix) && typeof value === 'string'),
  );
}

/** A config as variables, so that one checker reads both. */
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
    return null; // It was said and cannot be read: no number, and told as such.
  }
}

function toStandardError(line: string): void {
  process.stderr.write(`${line}\n`);
}
