/** A wait that somebody awaits keeps the process alive; a timer that nobody awaits does not. */

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';

const door = new URL('../../src/index.ts', import.meta.url).href;

function run(code: string) {
  const script = `import { createSwitchgear } from ${JSON.stringify(door)}; ${code}`;
  const args = ['--no-warnings', '--input-type=module', '-e', script];
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 });
  return { status, out: stdout.trim() };
}

test('an awaited retry continues although nothing else keeps the process alive', () => {
  const code = `
    const gear = createSwitchgear({ log: 'silent' });
    let tries = 0;
    const work = () => { if (++tries < 2) throw new Error('not yet'); return 'done'; };
    console.log(await gear.retry(work, { baseSecs: 0.05 }), tries);
  `;
  assert.deepEqual(run(code), { status: 0, out: 'done 2' });
});

test('an open breaker, a hung call without a limit and a running task let the process end', () => {
  const code = `
    const policy = { circuit_breaker: { timeout_secs: 'none' } };
    const gear = createSwitchgear({ log: 'silent', policy });
    gear.startTask({});
    gear.breaker('down').trip();
    void gear.guard('hung', () => new Promise(() => {}))();
    console.log('over');
  `;
  assert.deepEqual(run(code), { status: 0, out: 'over' });
});

test('a guarded function that calls itself without end throws a RangeError, and the process goes on', () => {
  const code = `
    const gear = createSwitchgear({ log: 'silent', policy: { loop: { enabled: false } } });
    const deeper = gear.guard('deeper', () => deeper());
    try { deeper(); } catch (error) { console.log(error.name); }
    console.log('over');
  `;
  const { status, out } = run(code);
  assert.equal(status, 0);
  assert.match(out, /over$/);
});
