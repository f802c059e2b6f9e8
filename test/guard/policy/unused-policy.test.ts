import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'node:test';
import { configureSwitchgear, createSwitchgear, defaultSwitchgear, refusalOf } from '../../../src/index.ts';

test('a gear without a policy says once that a policy file is there, with the line to write', (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-unused-'));
  const before = process.cwd();
  process.chdir(folder);
  context.after(() => {
    process.chdir(before);
    rmSync(folder, { recursive: true, force: true });
  });
  writeFileSync(join(folder, 'switchgear.toml'), 'this is never parsed = = =');
  const lines: string[] = [];
  const log = (line: string) => lines.push(line);
  const env = { HOME: folder };
  createSwitchgear({ env, log: 'silent' }).dispose();
  createSwitchgear({ env, log, policy: {} }).dispose();
  assert.deepEqual(lines, [], 'a given policy, even an empty one, is an answer; so is silence');
  createSwitchgear({ env, log }).dispose();
  assert.equal(lines.length, 1);
  assert.match(lines[0]!, /switchgear\.toml is here and not used\. To use it: import \{ loadPolicy \}/);
  assert.match(lines[0]!, /createSwitchgear\(\{ policy: loadPolicy\(\) \}\)/);
  createSwitchgear({ env, log }).dispose();
  assert.equal(lines.length, 1, 'once per process');
});

test('configureSwitchgear sets the gear of the process, once and before its first use', async () => {
  const gear = configureSwitchgear({ policy: { task: { max_tool_calls: 1 } }, log: 'silent', env: {} });
  assert.equal(defaultSwitchgear(), gear);
  const tool = defaultSwitchgear().guard('tool', () => 'ran');
  const result = await defaultSwitchgear().task(async () => {
    tool();
    return refusalOf(tool())?.code;
  });
  assert.equal(result.status, 'halted');
  assert.throws(() => configureSwitchgear({}), { code: 'already_configured', message: /before the first protect/ });
});
