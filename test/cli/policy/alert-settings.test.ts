import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Terminal } from '../../../src/cli/command.ts';
import { createAlertSettingsReader } from '../../../src/cli/policy/alert-settings.ts';
import { loadPolicyInForce } from '../../../src/cli/policy/policy-in-force.ts';

test('thresholds follow the policy file: tighter ones at once, looser ones after trust, broken ones not', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-thresholds-'));
  try {
    const file = join(folder, 'switchgear.toml');
    const write = (trips: string) => writeFileSync(file, `[alerts]\ntrips_per_hour = ${trips}\n`);
    write('4');
    const errors: string[] = [];
    const env = { HOME: folder, XDG_STATE_HOME: join(folder, 'state') };
    const terminal = { cwd: folder, env, userHome: folder, err: (line: string) => errors.push(line) };
    const place = { isBelowAgent: async () => false, isOperator: async () => true };
    const { policy } = await loadPolicyInForce(undefined, terminal, place);
    const read = createAlertSettingsReader(policy, terminal as unknown as Terminal, place);
    const first = await read();
    assert.equal(first.tripsPerHour, 4);
    assert.equal(await read(), first, 'an unchanged file gives the same value');
    write('2');
    assert.equal((await read()).tripsPerHour, 2);
    write('"many"');
    assert.equal((await read()).tripsPerHour, 2);
    await read();
    assert.deepEqual([errors.length, /not read again: .*trips_per_hour/s.test(errors[0] ?? '')], [1, true]);
    write('900');
    assert.equal((await read()).tripsPerHour, 4, 'a looser value than that of the start waits');
    await read();
    assert.deepEqual([errors.length, /alerts\.trips_per_hour/.test(errors[1] ?? '')], [2, true]);
    rmSync(file);
    assert.equal((await read()).tripsPerHour, 4, 'without the file the values of the start hold');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
