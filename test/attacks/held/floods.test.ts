/** Floods of names: the heap stays bounded, open breakers stay open, and spent budgets stay spent. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { collectOutput } from '../../harness/child-output.ts';
import { type Attempts, byForm, holdAll } from './attempts.ts';
import type { FloodName, FloodReport } from './flood-child.ts';

const child = fileURLToPath(new URL('./flood-child.ts', import.meta.url));

/** In a process of its own: its heap is that of the flood. */
async function flood(name: FloodName, count: number): Promise<FloodReport> {
  const process_ = spawn(process.execPath, ['--expose-gc', child, name, `${count}`], { stdio: 'pipe' });
  const { out, err } = collectOutput(process_);
  const code = await new Promise((resolve) => process_.on('close', resolve));
  assert.equal(code, 0, err());
  return JSON.parse(out()) as FloodReport;
}

const floods: Attempts<FloodName> = (
  ['tasks', 'tools', 'workers', 'sessions', 'agents', 'texts', 'calls', 'models', 'entries'] as const
).map((name) => [`a flood of ${name}`, name] as const);

test('held: a flood of names keeps the heap bounded, open breakers open and spent budgets spent', async (context) => {
  await holdAll(
    context,
    floods,
    async (name) => {
      const { heapMb, breaker, project, global, throws } = await flood(name, byForm(110_000, 2_000));
      assert.equal(throws, 0, 'the flood threw');
      assert.ok(heapMb < 256, `${heapMb} MB of heap`);
      assert.equal(breaker, 'circuit_open');
      assert.deepEqual([project, global], ['tool_call_limit', 'tool_call_limit']);
    },
    3,
  );
});
