/** A world made from a seed: agents and tasks in parallel, tools that fail, hang and lie, and a clock that jumps. */

import { resolveBreaker } from '../../src/core/controls/resolve-settings.ts';
import { replay } from '../../src/core/replay/replay.ts';
import { createSwitchgear, isRefused, type Refusal, refusalOf, type Switchgear, type Task } from '../../src/index.ts';
import { promisesSettled, type SimulatedClock, simulatedClock } from '../../src/testing/index.ts';
import { type Checker, checker, fail, type SimulatedCall, Violation } from './checker.ts';
import { type Draw, draw, policyOf, redraw } from './policy.ts';
import { type Random, random } from './random.ts';
import type { TaskLimits, TaskModel } from './task-model.ts';

export interface Run {
  readonly seed: number;
  readonly violation: string | undefined;
  readonly reached: ReadonlySet<string>;
  readonly steps: number;
}

/** Plays one seed to its end, or to the first thing that is wrong. */
export async function simulate(seed: number, steps = 80): Promise<Run> {
  const world = createWorld(seed);
  let at = 0;
  try {
    for (; at < steps; at++) {
      await world.step();
      world.check();
    }
    await world.heal();
    return { seed, violation: undefined, reached: world.checker.reached, steps: at };
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    const violation = `seed ${seed}, step ${at} (${world.last}): ${error.message}`;
    return { seed, violation, reached: world.checker.reached, steps: at };
  }
}

type Act = () => unknown;
type Tool = (args: number, act: Act) => unknown;
type Answering = 'yes' | 'no' | 'never' | 'throws' | 'nonsense';

interface World {
  readonly checker: Checker;
  /** The kind of the last step. */
  readonly last: string;
  step(): Promise<void>;
  check(): void;
  heal(): Promise<void>;
}

const agents = ['ann', 'bob'];
const sessions = ['s1', 's2'];
const workers = ['cook', 'clerk'];
const texts = ['one two three', 'four five six', 'seven eight nine'];

function createWorld(seed: number): World {
  const chance: Random = random(seed);
  const clock: SimulatedClock = simulatedClock(chance.whole(0, 1_000_000));
  let settings: Draw = draw(chance);
  const check = checker(settings, () => clock.nowMs());
  let answering: Answering = 'yes';
  let violation: Violation | undefined;
  let last = '';
  let ids = 0;
  /** Calls of the world's own tools that wait for it, and two-step admissions that wait to be settled. */
  const hanging = new Set<() => void>();
  const unsettled = new Set<(how: 'as made' | 'cancelled') => void>();
  const live = new Map<string, Task>();
  const questions: string[] = [];
  const paused = new Set<Task>();

  const gear: Switchgear = createSwitchgear({
    agent: 'ann',
    session: 's1',
    project: 'world',
    clock,
    log: 'silent',
    env: {},
    policy: policyOf(settings),
    prices: {
      price: ({ inputTokens, outputTokens }) => ({
        costUsd: (inputTokens * 3 + outputTokens * 5) / 1_000_000,
        basis: 'world',
      }),
      highestPrice: () => ({ costUsd: 0, basis: 'world' }),
    },
    approver: {
      name: 'someone',
      async ask(card) {
        questions.push(card.id);
        if (answering === 'never') return new Promise<never>(() => {});
        if (answering === 'throws') throw new Error('the line is dead');
        if (answering === 'nonsense') return 'sure' as never;
        if (answering === 'yes' && check.asking !== undefined) check.asking.approved = true;
        return { approved: answering === 'yes', by: 'someone' };
      },
    },
  });
  const first = gear.settings;
  /** A violation found inside the gear's own calls would be swallowed there: it is kept and thrown outside. */
  gear.onEntry((entry) => {
    try {
      check.hear(entry);
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      violation ??= error;
    }
  });

  const act: Tool = (_args, run) => run();
  const tools: Readonly<Record<string, Tool>> = {
    fetch: gear.guard('fetch', act, { async: true }) as Tool,
    calc: gear.guard('calc', act) as Tool,
    pay: gear.guard('pay', act, { async: true }) as Tool,
    burst: gear.guard('burst', act, { async: true }) as Tool,
  };
  /** What a model call may cost differs from call to call, so each has a guard of its own. */
  const thinking = (cents: number) =>
    gear.guard('think', act, {
      kind: 'model',
      async: true,
      maxCost: { usd: cents / 100 },
      usage: (result) => ({ inputTokens: (result as { tokens: number }).tokens, outputTokens: 0 }),
    }) as Tool;

  function newCall(tool: string, task: TaskModel | undefined, more: Partial<SimulatedCall> = {}): SimulatedCall {
    return {
      tool,
      kind: tool === 'think' ? 'model' : 'tool',
      task,
      agent: task?.agent ?? 'ann',
      session: task?.session ?? 's1',
      args: chance.whole(0, 1),
      outcome: chance.weighted([
        [5, 'success'],
        [4, 'failure'],
        [1, 'neutral'],
      ] as const),
      worstMicros: 0,
      costMicros: 0,
      patienceMs: tool === 'think' ? 600_000 : settings.timeoutMs,
      approved: false,
      ticket: undefined,
      rule: undefined,
      ran: false,
      ...more,
    };
  }

  /** What the body of a call does: it ends as the call was made to, at once, later, or when the world lets it. */
  function bodyOf(call: SimulatedCall, how: 'now' | 'slow' | 'hang'): Act {
    const end = () => {
      if (call.outcome === 'success') return { tokens: call.costMicros / 3 };
      if (call.outcome === 'neutral') return { permission_denied: true, tokens: 0 };
      throw new Error('made to fail');
    };
    return () => {
      guarded(() => check.runs(call));
      if (how === 'now') return call.tool === 'calc' ? end() : Promise.resolve().then(end);
      const slowMs = chance.whole(1, 2 * settings.timeoutMs);
      return new Promise<void>((resolve) => {
        if (how === 'slow') clock.after(slowMs, resolve);
        else hanging.add(resolve);
      }).then(end);
    };
  }

  function guarded(look: () => void): void {
    try {
      look();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      violation ??= error;
    }
  }

  function inside<T>(task: Task | undefined, run: () => T): T {
    return task === undefined ? run() : task.run(run);
  }

  function propose(task: Task | undefined, call: SimulatedCall, make: () => unknown): unknown {
    check.proposing = call;
    // Its breaker exists from the first proposal on, with the settings of the last.
    const wasHalted = call.task?.halt !== undefined;
    try {
      const result = inside(task, make);
      if (result instanceof Promise) {
        result.then(
          (value) => seen(call, value, wasHalted),
          () => {},
        );
      } else seen(call, result, wasHalted);
      return result;
    } catch {
      return undefined; // A synchronous tool that was made to fail.
    } finally {
      check.proposing = undefined;
    }
  }

  function seen(call: SimulatedCall, value: unknown, wasHalted: boolean): void {
    if (check.asking === call) check.asking = undefined;
    const refusal: Refusal | undefined = isRefused(value) ? refusalOf(value) : undefined;
    if (refusal !== undefined) guarded(() => check.refused(call, refusal, wasHalted));
  }

  function someTask(): Task | undefined {
    for (const id of live.keys()) if (check.tasks.get(id)?.ended) live.delete(id);
    const all = [...live.values()];
    return all.length === 0 || chance.chance(0.1) ? undefined : chance.pick(all);
  }

  function modelOf(task: Task | undefined): TaskModel | undefined {
    return task === undefined ? undefined : check.tasks.get(task.id);
  }

  function callTool(task: Task | undefined): void {
    const tool = chance.weighted([
      [5, 'fetch'],
      [2, 'calc'],
      [3, 'think'],
      [1, 'pay'],
      [1, 'burst'],
    ] as const);
    if (tool === 'pay' && check.asking !== undefined) return; // One question at a time.
    const model = modelOf(task);
    const how = chance.weighted([
      [6, 'now'],
      [3, 'slow'],
      [1, 'hang'],
    ] as const);
    if (tool === 'think') {
      const cents = chance.whole(1, 30);
      const call = newCall(tool, model, {
        worstMicros: cents * 10_000,
        costMicros: chance.whole(0, cents * 3_000) * 3,
      });
      const { outcome, costMicros } = call;
      const priced = { ...call, costMicros: outcome === 'success' ? costMicros : 0 };
      propose(task, priced, () => thinking(cents)(priced.args, bodyOf(priced, how)));
      return;
    }
    const call = newCall(tool, model);
    if (tool === 'pay') {
      check.asking = call;
      answering = chance.pick(['yes', 'yes', 'no', 'never', 'throws', 'nonsense']);
    }
    propose(task, call, () => tools[tool]!(call.args, bodyOf(call, tool === 'calc' ? 'now' : how)));
  }

  /** A host that runs the call itself, settles it once, twice, late or never. */
  function hostCall(task: Task | undefined): void {
    const model = modelOf(task);
    // A call that the host runs excuses silence: together with the idle limit for ten minutes.
    const patienceMs = Math.max(settings.timeoutMs, 600_000 - 1000 * (model?.limits.maxIdleSecs ?? 600));
    const call = newCall('host', model, { patienceMs });
    const id = `h-${++ids}`;
    const given = { id, ...(task === undefined ? {} : { task: task.id }) };
    const wasHalted = call.task?.halt !== undefined;
    check.proposing = call;
    const admission = gear.admit('host', [call.args], given);
    check.proposing = undefined;
    if (admission.refused !== undefined) {
      guarded(() => check.refused(call, admission.refusal, wasHalted));
      return;
    }
    if (gear.admit('host', [call.args], given) !== admission) fail('the same call id was admitted twice');
    if (task !== undefined && chance.chance(0.3)) task.observe({ type: 'tool_use', id, name: 'host' });
    const endings = {
      success: { value: 1 },
      failure: { error: new Error('no') },
      neutral: { cancelled: true },
    } as const;
    const settle = (how: 'as made' | 'cancelled') => {
      if (how === 'cancelled') (call as { outcome: string }).outcome = 'neutral';
      admission.settle(how === 'cancelled' ? { cancelled: true } : endings[call.outcome]);
      admission.settle({ value: 'again' });
    };
    const when = chance.weighted([
      [6, 'at once'],
      [2, 'later'],
      [1, 'never'],
    ] as const);
    if (when === 'at once') settle('as made');
    if (when === 'later') unsettled.add(settle);
  }

  function startTask(): void {
    const parent = chance.chance(0.4) ? someTask() : undefined;
    if (live.size > 12) return;
    const said: Partial<TaskLimits> = chance.chance(0.5) ? { maxToolCalls: chance.whole(3, 30) } : {};
    const id = `t-${++ids}`;
    check.said = said;
    const options = { id, agent: chance.pick(agents), session: chance.pick(sessions), limits: said };
    live.set(id, gear.startTask({ ...options, parent: parent?.id ?? null }));
  }

  function endTask(task: Task | undefined): void {
    if (task === undefined) return;
    task.end(chance.pick(['done', 'error']));
  }

  function observe(task: Task | undefined): void {
    const model = modelOf(task);
    if (task === undefined || model === undefined || model.halt !== undefined || model.ended) return;
    const kind = chance.pick(['assistant', 'assistant', 'usage', 'user', 'heartbeat', 'tool_use'] as const);
    if (kind === 'heartbeat') task.observe({ type: 'heartbeat' });
    if (kind === 'tool_use') {
      model.calls++;
      task.observe({ type: 'tool_use', id: `seen-${++ids}`, name: 'elsewhere' });
    }
    if (kind === 'usage' && seed % 2 === 0) {
      check.bounded = false;
      const inputTokens = chance.whole(0, 50_000);
      for (let at: TaskModel | undefined = model; at !== undefined; at = at.parent) at.micros += inputTokens * 3;
      task.observe({ type: 'usage', inputTokens, outputTokens: 0 });
    }
    if (kind === 'user') {
      const text = chance.pick(texts);
      if (!model.prompts.has(text)) {
        model.prompts.add(text);
        model.denied.clear();
        model.lastText = undefined;
        model.sameTexts = 0;
        model.sameTextsInARow = 0;
        model.endings.clear();
      }
      task.observe({ type: 'user', text });
    }
    if (kind === 'assistant') {
      const text = chance.pick(texts);
      for (let times = chance.pick([1, 1, 2, 3]); times > 0 && model.halt === undefined; times--) {
        model.sameTexts = text === model.lastText ? model.sameTexts + 1 : 1;
        model.sameTextsInARow = text === model.lastText ? model.sameTextsInARow + 1 : 1;
        model.lastText = text;
        task.observe({ type: 'assistant', text });
      }
    }
  }

  function delegate(task: Task | undefined, depth: number): Promise<unknown> | undefined {
    const model = modelOf(task);
    if (task === undefined || model === undefined) return undefined; // Outside any task nobody counts them.
    const call = newCall(chance.pick(workers), model, { kind: 'delegation', patienceMs: 600_000 });
    const script = chance.pick(['fine', 'fine', 'fine', 'cannot', 'throws', 'slow', 'deeper'] as const);
    const slowMs = chance.whole(1, 100_000);
    const result = propose(task, call, () =>
      gear.delegate(call.tool, async (child) => {
        guarded(() => check.runs(call));
        live.set(child.id, child);
        if (script === 'slow') await new Promise<void>((resolve) => void clock.after(slowMs, resolve));
        callTool(child);
        if (script === 'deeper' && depth < 3) await delegate(child, depth + 1);
        if (script === 'throws') throw new Error('the worker broke');
        return script === 'cannot' ? 'I am unable to do that' : 'done';
      }),
    ) as Promise<unknown>;
    return result.catch(() => {});
  }

  /** Now and then a pause is never taken back: its task ends, and nobody above it may stand still for that. */
  function pause(): void {
    const task = paused.size > 0 && chance.chance(0.5) ? undefined : someTask();
    if (task !== undefined) {
      paused.add(task);
      task.pause();
      return;
    }
    const [first] = paused;
    if (first === undefined) return;
    paused.delete(first);
    if (!modelOf(first)?.ended) first.resume();
  }

  function byHand(): void {
    const tool = chance.pick(['fetch', 'calc', 'burst', 'host']);
    const models = check.breakersNamed(tool);
    if (models.length === 0) return; // A hand on a breaker that nobody has used yet makes one of its own.
    const handle = gear.breaker(tool);
    const what = chance.pick(['hold', 'release', 'release', 'reset', 'trip', 'resetAll'] as const);
    if (settings.scope === 'task') return; // Those of ended tasks are gone in the gear and not in the model.
    if (what === 'hold') {
      check.heldTools.add(tool);
      for (const model of models) model.held = true;
    }
    if (what === 'release') {
      check.heldTools.delete(tool);
      for (const model of models) model.held = false;
    }
    if (what === 'reset') for (const model of models) model.reset();
    if (what === 'trip') for (const model of models) model.open(settings.breaker, clock.nowMs());
    if (what === 'resetAll') {
      for (const each of ['fetch', 'calc', 'burst', 'host', 'think', 'pay']) {
        for (const model of check.breakersNamed(each)) model.reset();
      }
      gear.resetAll();
    } else handle[what]();
  }

  function answer(): void {
    const card = questions.at(-1);
    if (card === undefined) return;
    const choice = chance.pick(['approve', 'decline'] as const);
    const isOpen = gear.snapshot().cards.find(({ id }) => id === card)?.state === 'open';
    if (choice === 'approve' && isOpen && check.asking !== undefined) check.asking.approved = true;
    gear.cards.answer(card, choice, 'a hand');
  }

  function takePolicy(): void {
    settings = redraw(chance, settings);
    check.reload(settings);
    gear.reload(policyOf(settings));
  }

  function release(): void {
    const first = hanging.values().next().value;
    if (first === undefined) return;
    hanging.delete(first);
    first();
  }

  function settleOne(): void {
    const first = unsettled.values().next().value;
    if (first === undefined) return;
    unsettled.delete(first);
    first(chance.chance(0.8) ? 'as made' : 'cancelled');
  }

  const steps: readonly (readonly [number, string, () => unknown])[] = [
    [8, 'start', startTask],
    [3, 'end', () => endTask(someTask())],
    [40, 'call', () => callTool(someTask())],
    [8, 'burst of calls', () => Array.from({ length: 4 }, () => callTool(someTask()))],
    [8, 'host call', () => hostCall(someTask())],
    [12, 'observe', () => observe(someTask())],
    [6, 'delegate', () => void delegate(someTask(), 0)],
    [3, 'by hand', byHand],
    [2, 'answer', answer],
    [1, 'reload', takePolicy],
    [4, 'release', release],
    [4, 'settle', settleOne],
    [3, 'pause', pause],
    [1, 'halt by hand', () => gear.halt(someTask()?.id ?? 'nobody', 'enough')],
    [14, 'a while', () => clock.elapse(chance.whole(0, 5_000))],
    [8, 'a minute', () => clock.elapse(chance.whole(1_000, 70_000))],
    [1, 'a long time', () => clock.advance(chance.whole(100_000, 4_000_000))],
    [2, 'wall jump', () => clock.wallJump(chance.whole(-1e9, 1e9))],
  ];

  async function quiet(): Promise<void> {
    await promisesSettled();
    if (violation !== undefined) throw violation;
  }

  return {
    checker: check,
    get last() {
      return last;
    },
    async step() {
      const [, name, run] = chance.weighted(steps.map((each) => [each[0], each] as const));
      last = name;
      await run();
      await quiet();
    },
    check: () => check.compare(gear),

    /** The faults end: everything that was open closes, everything that waits goes on, nothing is left behind. */
    async heal() {
      last = 'healing';
      check.heldTools.clear();
      for (const tool of ['fetch', 'calc', 'pay', 'burst', 'host']) {
        for (const model of check.breakersNamed(tool)) model.held = false;
        gear.breaker(tool).release();
      }
      while (hanging.size > 0) release();
      while (unsettled.size > 0) settleOne();
      await clock.elapse(300_000);
      for (const task of live.values()) task.end();
      await quiet();
      for (const agent of agents) for (const session of sessions) await closes(agent, session);
      repeats();
      gear.dispose();
      clock.advance(4_000_000);
      if (clock.pending > 0) fail(`${clock.pending} timers are left`);
    },
  };

  /** The journal, decided again from nothing, says the same. */
  function repeats(): void {
    const entries = gear.journal();
    if (entries[0]?.seq !== 1) return; // The memory store has forgotten the beginning.
    const { differences, decisions, lastSeq } = replay(entries, first, {
      breakerSettings: (tool, agent, overrides) => resolveBreaker(first, { tool, agent, overrides }),
    });
    const [wrong] = differences;
    if (wrong !== undefined) fail(`replay of entry ${wrong.seq}: ${wrong.expected} became ${wrong.got}`);
    if (decisions === 0 && lastSeq === entries.length) fail('replay repeated nothing');
  }

  /** One look, then the wait and a lease: after that good calls close any breaker. */
  async function closes(agent: string, session: string): Promise<void> {
    for (const tool of ['fetch', 'think'] as const) {
      const id = `t-${++ids}`;
      check.said = { maxToolCalls: 1000, maxIdleSecs: 10_000, maxDurationSecs: 10_000, maxDenials: 100 };
      const task = gear.startTask({ id, agent, session, parent: null, limits: check.said });
      const good = () => {
        const call = newCall(tool, modelOf(task), { outcome: 'success', args: ++ids });
        const guard = tool === 'think' ? thinking(0) : tools[tool]!;
        propose(task, call, () => guard(call.args, bodyOf(call, 'now')));
        return call;
      };
      good();
      await clock.elapse(settings.breaker.recoveryMs + 60_000 + settings.breaker.leaseMs);
      for (let at = 0; at < settings.breaker.successes; at++) {
        if (!good().ran) fail(`${tool} of ${agent} does not recover`);
        await quiet();
      }
      const together = [good(), good(), good()];
      await quiet();
      if (!together.every((call) => call.ran)) fail(`${tool} of ${agent} does not close again`);
      task.end();
      await quiet();
    }
  }
}
