/** Faults to plant, each a small slip in one line: a simulation that does not find them proves nothing. */

import { registerHooks } from 'node:module';

export interface Fault {
  readonly name: string;
  readonly find: string;
  readonly replace: string;
}

export const faults: readonly Fault[] = [
  {
    name: 'a breaker trips one failure late',
    find: 'atMs) >= settings.failureThreshold',
    replace: 'atMs) > settings.failureThreshold',
  },
  {
    name: 'a success does not end a run of failures',
    find: "if (settings.trip === 'consecutive') state.run = 0;",
    replace: '',
  },
  {
    name: 'a half-open breaker lets everybody pass',
    find: 'return state.probes.length - expired < settings.halfOpenPermits ? null : atMs + probeHintMs;',
    replace: 'return null;',
  },
  {
    name: 'a late result counts',
    find: "admitted.generation !== state.generation || state.phase === 'open'",
    replace: "state.phase === 'open'",
  },
  {
    name: 'a failed probe leaves the breaker half-open',
    find: "if (cause !== '') openBreaker(state, settings, atMs, cause, untilMs);",
    replace: "if (isProbe && failed) return; if (cause !== '') openBreaker(state, settings, atMs, cause, untilMs);",
  },
  {
    name: 'a lost probe is waited for without end',
    find: 'if (atMs >= probe.endMs) expired++;',
    replace: '',
  },
  {
    name: 'a hold by hand refuses nothing',
    find: 'if (state.heldAtMs >= 0) return deny(',
    replace: 'if (state.heldAtMs > Number.MAX_VALUE) return deny(',
  },
  {
    name: 'a task may make one call too many',
    find: "action.kind !== 'model' ? state.calls + 1 : 0",
    replace: "action.kind !== 'model' ? state.calls : 0",
  },
  {
    name: 'a refused call is not counted',
    find: "if (event.verdict.kind === 'wait' || event.verdict.kind === 'ask') return state;",
    replace: "if (event.verdict.kind !== 'allow') return state;",
  },
  {
    name: 'money of calls that are out is not reserved',
    find: 'state.reservedMicros += event.action.worstMicros;',
    replace: '',
  },
  {
    name: 'a reservation is never given back',
    find: 'state.reservedMicros = Math.max(0, state.reservedMicros - worstMicros);',
    replace: '',
  },
  {
    name: 'what a child spends is not its parent’s',
    find: 'if (event.cost !== undefined) spend(state, event.cost);',
    replace: "if (event.cost !== undefined && place === 'self') spend(state, event.cost);",
  },
  {
    name: 'a call that is out does not excuse silence',
    find: 'state.out++;',
    replace: '',
  },
  {
    name: 'the clock runs on while a person is asked',
    find: 'state.stoppedMs += event.atMs - state.stoppedAtMs;',
    replace: 'state.stoppedMs += 0;',
  },
  {
    name: 'refusals in a row are never too many',
    find: 'if (refused) state.inARow++;\n        return state;',
    replace: 'return state;',
  },
  {
    name: 'a refused call may be proposed again and again',
    find: 'if (times >= settings.refusedRepeats) {',
    replace: 'if (times > settings.refusedRepeats) {',
  },
  {
    name: 'a question is taken as answered with yes',
    find: "filterByAction(fired, 'confirm').filter(",
    replace: "filterByAction(fired, 'confirm').slice(1).filter(",
  },
  {
    name: 'the halt of a task leaves its children running',
    find: 'for (const child of task.children ?? []) latch(',
    replace: 'for (const child of [] as TaskNode[]) latch(',
  },
  {
    name: 'a halted task goes on',
    find: 'return task.haltStop; // A halt is final: every later call gets the same refusal.',
    replace: '',
  },
  {
    name: 'a call that ran out of time is never settled',
    find: `settleCall(runtime, this, failureOfTimeout, {
      stillRuns: true,
      failureText: describeTimeout(this.site.timeoutMs),
    });`,
    replace: '',
  },
  {
    name: 'a host may settle a call twice',
    find: "if (call.settled) return;\n    release();\n    const value = peek(ending, 'value');",
    replace: "release();\n    const value = peek(ending, 'value');\n    call.settled = false;",
  },
  {
    name: 'a worker’s failures are forgiven',
    find: 'state.failures = before + 1;',
    replace: 'state.failures = 1;',
  },
];

/** Plants a fault into the source that is loaded from now on; a test sees that its line stands there once. */
export function plant(fault: Fault): void {
  let planted = 0;
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      if (!url.includes('/src/') || loaded.source === undefined || loaded.source === null) return loaded;
      const text = typeof loaded.source === 'string' ? loaded.source : new TextDecoder().decode(loaded.source);
      if (!text.includes(fault.find)) return loaded;
      planted++;
      return { ...loaded, source: text.replaceAll(fault.find, fault.replace) };
    },
  });
  process.on('exit', () => {
    if (planted !== 1) throw new Error(`'${fault.find}' stands in ${planted} files: plant the fault anew`);
  });
}
