import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultSettings } from '../../../../src/core/controls/defaults.ts';
import type { WorldEffect } from '../../../../src/core/controls/loop/effect.ts';
import { loop } from '../../../../src/core/controls/loop/loop.ts';
import { endsRow } from '../../../../src/core/controls/loop/output-streak.ts';
import { markResult } from '../../../../src/core/controls/loop/result-mark.ts';
import type { Stop } from '../../../../src/core/verdict.ts';
import { bindControl } from '../../../harness/control-story.ts';

function speaker(rowAcrossCalls = false) {
  const task = bindControl(loop({ ...defaultSettings.loop, rowAcrossCalls }));
  return {
    says: (more = {}) => task.tell({ type: 'text-observed', atMs: 0, similarity: 1, ...more }),
    gets: (text: string, call = 1, effect: WorldEffect = 'read', ok = true) =>
      task.tell({ type: 'result-observed', atMs: 0, name: 'read', call, result: markResult(text, ok)!, effect }),
    progresses() {
      this.gets('news');
      task.tell({ type: 'progress-observed', atMs: 0 });
    },
    state: () => task.cell.state,
    alike: () => task.cell.state.alike,
    halted: () => task.check() as Stop,
  };
}

test('alike outputs halt in a row of three; a call in between ends the row, if the policy says no other', () => {
  type Speaker = ReturnType<typeof speaker>;
  const rows: readonly (readonly [
    story: string,
    between: (agent: Speaker, i: number) => void,
    more: { readonly asked?: true },
    halts: number,
    haltsAcross: number,
  ])[] = [
    ['no call', () => {}, {}, 3, 3],
    ['no call, after a repeated prompt', () => {}, { asked: true }, 3, 3],
    ['the same call', (agent) => agent.gets('same'), {}, 0, 4], // The first call brought something.
    ['a cycle of calls', (agent, i) => agent.gets(`${'ab'[i % 2]}`, i % 2), {}, 0, 5],
    ['the same call, after a repeated prompt', (agent) => agent.gets('same'), { asked: true }, 0, 0],
    ['news', (agent, i) => agent.gets(`news ${'abcdefgh'[i]}`), {}, 0, 0],
    ['a failure', (agent) => agent.gets('broken', 1, 'read', false), {}, 0, 0],
    ['a change', (agent, i) => agent.gets('done', i, 'change'), {}, 0, 0],
    ['a thing that leaves nothing', (agent) => agent.gets('said', 1, 'nothing'), {}, 0, 3],
    ['a call, then reported progress', (agent, i) => i === 0 && agent.progresses(), {}, 3, 3],
  ];
  for (const [story, between, more, ...expected] of rows) {
    const halts = [false, true].map((rowAcrossCalls) => {
      const agent = speaker(rowAcrossCalls);
      agent.says({ similarity: 0 });
      for (let i = 0; i < 7; i++) {
        between(agent, i);
        agent.says(more);
        if (agent.halted().code === 'output_loop') return i + 2;
      }
      return 0;
    });
    assert.deepEqual(halts, expected, story);
  }
});

test('a row that may include calls goes on over those without news, and ends with a change or a failure', () => {
  const rows: readonly (readonly [effect: WorldEffect, ok: boolean, ends: boolean])[] = [
    ['nothing', true, false],
    ['nothing', false, true],
    ['read', true, true],
    ['read', false, true],
    ['command', true, true],
    ['change', true, true],
    ['change', false, true],
  ];
  for (const [effect, ok, ends] of rows) {
    const agent = speaker(true);
    agent.says();
    agent.gets('done', 1, effect, ok);
    assert.deepEqual([endsRow(agent.state(), true), endsRow(agent.state(), false)], [ends, true], `${effect} ${ok}`);
    agent.says();
    assert.equal(agent.alike(), ends ? 0 : 2, `${effect} ${ok}`);
  }
  assert.equal(endsRow(speaker().state(), false), false, 'without a call');
});
