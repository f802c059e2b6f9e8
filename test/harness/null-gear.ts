/**
 * The stand-in that proves the proofs: it has the doors' names, passes every call through, counts nothing and refuses
 * nothing. A clause test that passes against it proves nothing. Names are added here as the doors grow.
 */

/** Loose on purpose: whatever a test hands in goes through. */
type Loose = Record<PropertyKey, unknown>;
type Run = (...args: unknown[]) => unknown;

/** An object that says so when a test asks for something it does not have, instead of giving undefined. */
function standIn<T extends object>(label: string, object: T): T {
  return new Proxy(object, {
    get(target, key, receiver) {
      if (typeof key === 'symbol' || key in target || key === 'then' || key === 'toJSON') {
        return Reflect.get(target, key, receiver);
      }
      throw new Error(`test/harness/null-gear.ts: ${label} has no '${key}' yet; add it there, passing through or 0`);
    },
  });
}

/** Sections of settings, and limits: every number in them is 0. */
function zeros(depth = 0): Loose {
  return new Proxy({} as Loose, {
    get: (_target, key) =>
      typeof key === 'symbol' || key === 'then' || key === 'toJSON' ? undefined : depth > 0 ? zeros(depth - 1) : 0,
  });
}

const nothing = (): void => {};

const stats = {
  consecutiveFailures: 0,
  halfOpenSuccesses: 0,
  totalFailures: 0,
  totalSuccesses: 0,
  totalNeutrals: 0,
  totalRequests: 0,
  rejectedRequests: 0,
  lateResults: 0,
  inFlight: 0,
  failure_count: 0,
  success_count: 0,
  total_requests: 0,
  rejected_requests: 0,
};

const metrics = { breaker_trip_count: 0, trips_per_hour: 0, failure_rate: 0, time_in_open_state: 0, alerts: [] };

function breaker(name: string): Loose {
  const run: Run = (fn, ...args) => (fn as Run)(...args);
  return standIn('a breaker', {
    name,
    state: 'CLOSED',
    failures: 0,
    stats: standIn('stats', { ...stats }),
    config: zeros(),
    settings: zeros(),
    execute: run,
    call: run,
    admit: () => ({ refused: undefined, settle: nothing }),
    settle: nothing,
    check: () => ({ kind: 'allow' }),
    reset: nothing,
    trip: nothing,
    hold: nothing,
    release: nothing,
    metrics: () => standIn('metrics', { ...metrics }),
    checkHealth: nothing,
    onChange: () => nothing,
    dispose: nothing,
  });
}

let lastTask = 0;

function task(options: Loose = {}, onEnd: (id: string) => void = nothing): Loose {
  const id = String(options.id ?? `null-${++lastTask}`);
  const signal = new AbortController().signal;
  const place = { id, agent: options.agent ?? '', session: options.session ?? '', parent: options.parent ?? undefined };
  return standIn('a task', {
    ...place,
    signal,
    halt: undefined,
    observe: () => undefined,
    hint: () => undefined,
    run: (fn: Run) => fn(),
    pause: nothing,
    resume: nothing,
    end: () => onEnd(id),
    snapshot: () => ({ ...place, ...taskZeros }),
    [Symbol.dispose]: () => onEnd(id),
  });
}

const taskZeros = { toolCalls: 0, spendUsd: 0, tokens: 0, durationMs: 0, idleMs: 0, gauges: [], halt: undefined };

/** A gear that is not there. */
export function createSwitchgear(options: Loose = {}): Loose {
  const tasks = new Map<string, Loose>();
  const names = new Set<string>();
  const start = (input?: Loose): Loose => {
    const started = task({ ...options, ...input }, (id) => tasks.delete(id));
    tasks.set(String(started.id), started);
    return started;
  };
  const guard = (name: string, fn: Run): Run => {
    names.add(name);
    return fn;
  };
  return standIn('the gear', {
    agent: options.agent ?? '',
    session: options.session ?? '',
    settings: zeros(1),
    guard,
    guardAll: (tools: Record<string, Run>) => {
      for (const name of Object.keys(tools)) names.add(name);
      return { ...tools };
    },
    run: (_name: string, fn: Run, input: Loose = {}) => fn(...((input.args as unknown[] | undefined) ?? [])),
    async task(...input: [Loose, Run] | [Run]) {
      const [given, run] = input.length === 1 ? [{}, input[0]] : input;
      const started = start(given);
      try {
        return { status: 'done', value: await run(started), halt: undefined };
      } finally {
        tasks.delete(String(started.id));
      }
    },
    startTask: start,
    currentTask: () => [...tasks.values()].at(-1),
    currentCall: () => ({ name: '', signal: new AbortController().signal, progress: nothing }),
    delegate: async (_worker: string, run: Run) => await run(task(options)),
    breaker,
    snapshot: () => ({
      atMs: 0,
      mode: 'enforce',
      tasks: [...tasks.values()].map((each) => (each.snapshot as Run)()),
      breakers: [...names].map((name) => ({
        ...stats,
        key: name,
        name,
        agent: '',
        state: 'CLOSED',
        held: false,
        healthCheck: 'none',
      })),
      delegations: zeros(1),
      cards: [],
      internalErrors: 0,
    }),
    cards: standIn('cards', { list: () => [], answer: () => undefined }),
    admit: () => ({ refused: undefined, refusal: undefined, settle: nothing }),
    retry: async (run: Run) => await run(),
    watch,
    addControl: nothing,
    addModelRules: () => [],
    reload: nothing,
    retryOptions: () => undefined,
    on: () => nothing,
    onEntry: () => nothing,
    journal: () => [],
    halt: nothing,
    haltAll: nothing,
    resetAll: nothing,
    dispose: nothing,
    [Symbol.dispose]: nothing,
  });
}

function watch(_name: string, source: { on: Run }, listener: Run, watching: { events?: string[] } = {}): Loose {
  for (const event of watching.events ?? ['change', 'all'])
    source.on(event, (...args: unknown[]) => listener(event, ...args));
  return standIn('a watch', { paused: false, restart: nothing, close: nothing, [Symbol.dispose]: nothing });
}

let shared: Loose | undefined;
export const defaultSwitchgear = (): Loose => {
  shared ??= createSwitchgear();
  return shared;
};

export const isRefused = (): boolean => false;
export const refusalOf = (): undefined => undefined;
export class RefusedError extends Error {}
export class SwitchgearError extends Error {}

export const createBreaker = (options: Loose = {}): Loose => breaker(String(options.name ?? ''));

// The policy: every document is taken, and says nothing.

const checked = (): Loose => ({ settings: zeros(1), provenance: new Map(), ignored: [] });
export const checkPolicy = checked;
export const loadPolicy = checked;
export const parsePolicy = checked;
export const applyEnvironment = checked;
export const findPolicy = (): undefined => undefined;
export const watchPolicy = () => nothing;
export const explainPolicy = (): string[] => [];
export const listAdvice = (): string[] => [];
export const policySchema = (): Loose => ({});
export const resolveBreaker = (): Loose => zeros();
export const resolveTask = (): Loose => zeros();
export const presets = zeros(1);

export const priceBook = (): Loose => ({
  price: () => ({ costUsd: 0, basis: '' }),
  highestPrice: () => ({ costUsd: 0, basis: '' }),
});
export const builtinPrices = priceBook();
export const protocolPrompt = (): string => '';
export const delegationPolicyPrompt = (): string => '';

// Chain files: every text is one that says nothing.

export const readChain = (): Loose => ({ chain: undefined, problems: [], warnings: [] });
export const readParams = (_chain: Loose, input: Loose): Loose => input;
export const chainRules = (): unknown[] => [];
export const fillTemplates = (value: unknown): unknown => value;
export const evaluateCondition = (): boolean => true;

/** Runs every step, whatever rules say, and keeps nothing. */
export function createChains({ abilities }: Loose): Loose {
  const [source] = abilities as { find(name: string): Promise<{ run: Run }> }[];
  return standIn('chains', {
    async run({ steps }: { steps: { ability: string; args: unknown }[] }): Promise<Loose> {
      for (const { ability, args } of steps) await (await source!.find(ability)).run({ name: ability, args });
      return { status: 'done', steps: [], end: undefined };
    },
    list: async (): Promise<unknown[]> => [],
  });
}

// What agents say: nobody listens.

const deaf = { read: (): unknown[] => [], end: (): unknown[] => [] };
export const readerFor = (command: string[]): Loose => ({ command, signal: 'SIGTERM', reader: () => deaf });
export const boundedLines = (): Loose => ({ write: nothing, end: nothing, skipped: 0, skippedLength: 0 });
export const accountEvents = (): Loose =>
  standIn('a booking', { account: nothing, halt: undefined, result: undefined, subagents: [], end: nothing });

// The seeds' own names.

export const getCircuitBreaker = (name: string): Loose => breaker(name);
export const resetAllCircuitBreakers = nothing;
export const createCircuitBreaker = (): Loose => breaker('');
export class OperationFailed extends Error {}

export const MAX_DELEGATION_FAILURES = 0;
export const recordDelegationFailure = (): Loose => ({ delegation_failures: {} });
export const checkCircuitBreaker = (): [boolean, string] => [true, ''];
export const delegationBreaker = (): Loose => ({ recordDelegationFailure, checkCircuitBreaker });
export const hasInabilityPhrase = (): boolean => false;

export const DEFAULT_BREAKER_CONFIG = zeros();
export const configFromEnv = (): Loose => zeros();
export const estimateUsageCents = (): number => 0;
export class SessionBreaker {
  constructor() {
    Object.assign(this, {
      config: zeros(),
      snapshot: () => ({ activeTasks: [], tasks: [], ignoredEvents: 0, internalErrors: 0 }),
    });
    // Whatever it is told, nothing comes of it.
    // biome-ignore lint/correctness/noConstructorReturn: a stand-in for every method there is.
    return new Proxy(this, {
      get: (target, key, self) =>
        key in target || typeof key === 'symbol' ? Reflect.get(target, key, self) : () => undefined,
    });
  }
}

/** A rule that parses, whatever was written, and never fires. */
const rule = { id: '', target: '', condition: { kind: 'never' }, action: '', reason: '', origin: '' };
export const parseRule = (): Loose => ({ rule: { ...rule } });
export const printRule = (): string => '';
export const parseNyaya = (): Loose => ({ lines: {}, rules: [], errors: [] });
export class BreakerRegistry {
  register(): Loose {
    return { ...rule };
  }
  registerGlobal(): Loose {
    return { ...rule };
  }
  rules(): unknown[] {
    return [];
  }
  recordExecution(): void {}
  executions(): number {
    return 0;
  }
  evaluate(): Loose {
    return { fired: [], action: null, reasons: [], reason: '' };
  }
  explain(): unknown[] {
    return [];
  }
}
