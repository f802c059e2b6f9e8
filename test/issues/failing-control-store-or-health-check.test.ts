/** A control, a store or a health check that breaks must not take the host with it, or the protection. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allow } from '../../src/core/verdict.ts';
import { createSwitchgear, isRefused } from '../../src/index.ts';
import { memoryStore } from '../../src/stores/memory.ts';
import { simulatedClock } from '../../src/testing/index.ts';

test('an error of a control in the sweep is counted, and the sweep continues', async () => {
  const clock = simulatedClock();
  const control = {
    name: 'broken',
    scope: 'gear',
    initial: () => ({}),
    judge: () => allow,
    apply(state: object, event: { readonly type: string }) {
      if (event.type === 'permit-renewed') throw new Error('broken');
      return state;
    },
  } as const;
  const gear = createSwitchgear({ clock, log: 'silent', env: {} });
  gear.addControl(control);
  const work = (fails: boolean) => (fails ? Promise.reject(new Error('down')) : new Promise<never>(() => {}));
  const tool = gear.guard('tool', work, { async: true, timeoutSecs: 0 });
  for (let call = 0; call < 5; call++) await assert.rejects(tool(true));
  clock.advance(60_000);
  void tool(false);
  clock.advance(3_000);
  assert.equal(gear.snapshot().internalErrors, 3);
});

test('if the journal cannot be written, calls still return and a halt reaches every task', async () => {
  const clock = simulatedClock();
  const inner = memoryStore(clock);
  let isFull = false;
  const append: typeof inner.append = (...args) => {
    if (isFull) throw new Error('disk full');
    return inner.append(...args);
  };
  const policy = { journal: { level: 'all' } } as const;
  const lines: string[] = [];
  const log = (line: string) => lines.push(line);
  const gear = createSwitchgear({ clock, store: { ...inner, append }, log, env: {}, policy });
  const tool = gear.guard('tool', async () => 'result');
  const root = gear.startTask({ id: 'root' });
  const child = gear.startTask({ parent: 'root' });
  isFull = true;
  assert.equal(await child.run(tool), 'result');
  gear.halt('root', 'enough');
  assert.deepEqual([root.halt?.code, child.halt?.code], ['operator_halt', 'operator_halt']);
  assert.ok(isRefused(await child.run(tool)));
  assert.ok(gear.snapshot().internalErrors > 0);
  assert.ok(lines.includes('⚠️ switchgear: internal error in journal: Error: disk full'));
});

test('a health check that does not return is started again, and the late answer is ignored', async () => {
  const clock = simulatedClock();
  const gear = createSwitchgear({ clock, log: 'silent', env: {} });
  const checks: PromiseWithResolvers<boolean>[] = [];
  const healthCheck = () => {
    const check = Promise.withResolvers<boolean>();
    checks.push(check);
    return check.promise;
  };
  const tool = gear.guard('tool', () => ({ error: 'down' }), { breaker: { recovery: 'manual' } });
  gear.breaker('tool').checkHealth(healthCheck);
  for (let call = 0; call < 5; call++) tool();
  await clock.elapse(62_000);
  assert.equal(checks.length, 2);
  checks[0]?.resolve(true);
  await clock.elapse(0);
  assert.equal(gear.breaker('tool').state, 'OPEN');
  checks[1]?.resolve(true);
  await clock.elapse(0);
  assert.equal(gear.breaker('tool').state, 'HALF_OPEN');
});
