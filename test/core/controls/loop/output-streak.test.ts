import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultSettings } from '../../../../src/core/controls/defaults.ts';
import type { WorldEffect } from '../../../../src/core/controls/loop/effect.ts';
import { loop } from '../../../../src/core/controls/loop/loop.ts';
import { endsRow } from '../../../../src/core/controls/loop/output-streak.ts';
import { markResult } from '../../../../src/core/controls/loop/result-mark.ts';
import { bindControl } from '../../../harness/control-story.ts';

function speaker(rowAcrossCalls = true) {
  const task = bindControl(loop({ ...defaultSettings.loop, rowAcrossCalls }));
  return {
    says: (more = {}) => task.tell({ type: 'text-observed', atMs: 0, similarity: 1, ...more }),
    gets: (text: string, call = 1, effect: WorldEffect = 'read', ok = true) =>
      task.tell({ type: 'result-observed', atMs: 0, name: 'read', call, result: markResult(text, ok)!, effect }),
    progresses: () => task.tell({ type: 'progress-observed', atMs: 0 }),
    state: () => task.cell.state,
    alike: () => task.cell.state.alike,
  };
}

test('a call without a new result does not end a streak of alike outputs, except after a repeated prompt', () => {
  const agent = speaker();
  agent.gets('same');
  agent.says();
  agent.gets('same');
  agent.says();
  assert.equal(agent.alike(), 1);
  agent.says({ asked: true });
  assert.equal(agent.alike(), 2, 'no call came after the prompt that was sent again');
  agent.gets('same');
  agent.says({ asked: true });
  assert.equal(agent.alike(), 0, 'a call did what the prompt said');
});

test('a repeated cycle of calls does not end a streak of alike outputs', () => {
  const agent = speaker();
  for (const call of [1, 2]) agent.gets(`answer ${'ab'[call - 1]}`, call);
  agent.says({ similarity: 0 });
  for (const call of [1, 2]) agent.gets(`answer ${'ab'[call - 1]}`, call);
  agent.says();
  assert.equal(agent.alike(), 1);
});

test('any call ends a streak of alike outputs if the policy says so', () => {
  const agent = speaker(false);
  agent.gets('same');
  agent.says();
  agent.gets('same');
  agent.says();
  assert.equal(agent.alike(), 0);
  agent.says();
  assert.equal(agent.alike(), 1);
});

test('a call before declared progress does not end a streak of alike outputs after the progress', () => {
  const agent = speaker();
  agent.gets('news');
  agent.progresses();
  agent.says();
  assert.equal(agent.alike(), 1);
});

test('a call that leaves nothing does not end a streak of alike outputs; a change, a failure and news do', () => {
  const rows: readonly (readonly [effect: WorldEffect, ok: boolean, ends: boolean])[] = [
    ['nothing', true, false],
    ['nothing', false, true],
    ['read', true, true],
    ['read', false, true],
    ['change', true, true],
    ['change', false, true],
  ];
  for (const [effect, ok, ends] of rows) {
    const agent = speaker();
    agent.says();
    agent.gets('done', 1, effect, ok);
    assert.equal(endsRow(agent.state(), false), ends, `${effect} ${ok}`);
    assert.equal(endsRow(agent.state(), true), true, 'after a repeated prompt any call does');
    agent.says();
    assert.equal(agent.alike(), ends ? 0 : 2, `${effect} ${ok}`);
  }
  assert.equal(endsRow(speaker().state(), true), false, 'without a call');
});
