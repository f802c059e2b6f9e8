/** Faults to plant, each a small slip in one source file: a simulation that does not find them proves nothing. */

import { registerHooks } from 'node:module';

export interface Fault {
  readonly name: string;
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export const faults: readonly Fault[] = [
  {
    name: 'a breaker trips one failure late',
    file: 'src/core/breaker/breaker.ts',
    find: 'atMs) >= settings.failureThreshold',
    replace: 'atMs) > settings.failureThreshold',
  },
  {
    name: 'a success does not end a run of failures',
    file: 'src/core/breaker/breaker.ts',
    find: "if (settings.trip === 'consecutive') state.run = 0;",
    replace: '',
  },
  {
    name: 'a half-open breaker lets everybody pass',
    file: 'src/core/breaker/breaker.ts',
    find: 'if (state.probes.length - expired < settings.halfOpenPermits) return undefined;',
    replace: 'return undefined;',
  },
  {
    name: 'a late result counts',
    file: 'src/core/breaker/breaker.ts',
    find: "admitted.generation !== state.generation || state.phase === 'open'",
    replace: "state.phase === 'open'",
  },
  {
    name: 'a failed probe leaves the breaker half-open',
    file: 'src/core/breaker/breaker.ts',
    find: "openBreaker(state, settings, atMs, 'a failed probe', outcome.retryAtMs);",
    replace: '',
  },
  {
    name: 'a lost probe is waited for without end',
    file: 'src/core/breaker/breaker.ts',
    find: 'if (atMs >= probe.endMs) expired++;',
    replace: '',
  },
  {
    name: 'a hold by hand refuses nothing',
    file: 'src/core/breaker/breaker.ts',
    find: 'if (state.heldAtMs >= 0) return deny(',
    replace: 'if (state.heldAtMs > Number.MAX_VALUE) return deny(',
  },
  {
    name: 'a task may make one call too many',
    file: 'src/core/budget.ts',
    find: 'state.calls + 1 > settings.maxToolCalls',
    replace: 'state.calls > settings.maxToolCalls',
  },
  {
    name: 'a refused call is not counted',
    file: 'src/core/budget.ts',
    find: "if (event.verdict.kind === 'wait' || event.verdict.kind === 'ask') return state;",
    replace: "if (event.verdict.kind !== 'allow') return state;",
  },
  {
    name: 'money of calls that are out is not reserved',
    file: 'src/core/budget.ts',
    find: 'state.reservedMicros += event.action.worstMicros;',
    replace: '',
  },
  {
    name: 'a reservation is never given back',
    file: 'src/core/budget.ts',
    find: 'state.reservedMicros = Math.max(0, state.reservedMicros - event.permit.action.worstMicros);',
    replace: '',
  },
  {
    name: 'what a child spends is not its parent’s',
    file: 'src/core/budget.ts',
    find: 'if (event.cost !== undefined) spend(state, event.cost);',
    replace: "if (event.cost !== undefined && place === 'self') spend(state, event.cost);",
  },
  {
    name: 'a call that is out does not excuse silence',
    file: 'src/core/deadline.ts',
    find: 'state.out++;',
    replace: '',
  },
  {
    name: 'the clock runs on while a person is asked',
    file: 'src/core/deadline.ts',
    find: 'state.stoppedMs += event.atMs - state.stoppedAtMs;',
    replace: 'state.stoppedMs += 0;',
  },
  {
    name: 'refusals in a row are never too many',
    file: 'src/core/denials.ts',
    find: 'if (refused) state.inARow++;\n        return state;',
    replace: 'return state;',
  },
  {
    name: 'a refused call may be proposed again and again',
    file: 'src/core/loop.ts',
    find: 'call.times < settings.refusedRepeats',
    replace: 'call.times < settings.refusedRepeats + 1',
  },
  {
    name: 'a question is taken as answered with yes',
    file: 'src/core/rules/control.ts',
    find: "action.approvedBy === undefined ? having(fired, 'confirm') : []",
    replace: "action.approvedBy === undefined ? having(fired, 'confirm').slice(1) : []",
  },
  {
    name: 'the halt of a task leaves its children running',
    file: 'src/guard/guard.ts',
    find: 'for (const child of task.children ?? []) latch(',
    replace: 'for (const child of [] as TaskNode[]) latch(',
  },
  {
    name: 'a halted task goes on',
    file: 'src/guard/guard.ts',
    find: 'if (task?.haltStop !== undefined) return task.haltStop;',
    replace: '',
  },
  {
    name: 'a call that ran out of time is never settled',
    file: 'src/guard/run.ts',
    find: 'settleNow(call, failureOfTimeout, { stillRuns: true });',
    replace: '',
  },
  {
    name: 'a host may settle a call twice',
    file: 'src/guard/two-step.ts',
    find: 'if (done) return;',
    replace: '',
  },
  {
    name: 'a worker’s failures are forgiven',
    file: 'src/core/delegation.ts',
    find: 'state.failures = before + 1;',
    replace: 'state.failures = 1;',
  },
];

/** Plants a fault into the source that is loaded from now on. */
export function plant(fault: Fault): void {
  let planted = false;
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      if (!url.endsWith(`/${fault.file}`)) return loaded;
      const text = String(
        typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source as Uint8Array),
      );
      if (!text.includes(fault.find)) throw new Error(`${fault.file} has no '${fault.find}': plant the fault anew`);
      planted = true;
      return { ...loaded, source: text.replace(fault.find, fault.replace) };
    },
  });
  process.on('exit', () => {
    if (!planted) throw new Error(`${fault.file} was never loaded`);
  });
}
