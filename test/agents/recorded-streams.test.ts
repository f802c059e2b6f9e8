/** Recorded streams of four real agents, played with their own timing: what is decided must not change unseen. */

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { replay } from '../../src/core/replay/replay.ts';
import { type Cli, clis, expectedPath, journalOf, play, recording, recordings } from './recording.ts';

for (const each of recordings()) {
  test(`${each.cli} ${each.name} gives the stored journal, and a replay gives the same decisions`, () => {
    const played = play(each);
    assert.equal(
      journalOf(played),
      readFileSync(expectedPath(each), 'utf8'),
      'decided otherwise than before: if that is meant, run `node test/agents/expected.ts --write` and read the change',
    );
    assert.deepEqual(replay(played.entries, played.gear.settings).differences, []);
    assert.equal(played.gear.snapshot().internalErrors, 0);
  });
}

const failing: readonly (readonly [Cli, string])[] = [
  ...clis.map((cli) => [cli, 'spiral'] as const),
  ['claude-code', 'spiral-read'],
  ['gemini', 'spiral-read'],
  ['opencode', 'spiral-read'],
  ['opencode', 'spiral-builtin-guard'],
];

for (const [cli, name] of failing) {
  test(`${cli} ${name}: a repeated failing call is halted at the sixth call`, () => {
    const { accounting, calls } = play(recording(cli, name));
    assert.equal(accounting.halt?.code, 'tool_loop');
    assert.equal(calls, 6);
  });
}

for (const cli of clis) {
  test(`${cli}: eight useful calls, one of them failing, cause no halt and count as eight`, () => {
    const { accounting, calls } = play(recording(cli, 'healthy'));
    assert.equal(accounting.halt, undefined);
    assert.equal(calls, 8);
    assert.equal(accounting.result?.ok, true);
  });

  test(`${cli}: a tool that runs longer than the idle limit causes no halt`, () => {
    const { accounting } = play(recording(cli, 'slowtool'), { task: { max_idle_secs: 8 } });
    assert.equal(accounting.halt, undefined);
    assert.equal(accounting.result?.ok, true);
  });

  test(`${cli}: a refusal by the gateway is a failed run, not a halt`, () => {
    const { accounting } = play(recording(cli, 'gateway-halt'));
    assert.equal(accounting.halt, undefined);
    assert.equal(accounting.result?.ok, false);
  });
}

test('a run whose stream reports the tokens of each call halts within one call of the spend limit', () => {
  const rows = [
    ['claude-code', 'spend-partial-messages', 300, 87.2],
    ['opencode', 'spend', 2_000, 63.4],
  ] as const;
  for (const [cli, name, limit, perCall] of rows) {
    const { accounting, task } = play(recording(cli, name), { task: { max_spend_cents: limit } });
    const spendCents = task.snapshot().spendUsd * 100;
    assert.equal(accounting.halt?.code, 'token_spend_limit', cli);
    assert.ok(spendCents > limit && spendCents <= limit + perCall, `${cli}: ${spendCents} cents of ${limit}`);
  }
});

test('usage that a stream reports only at the end is counted once at the end', () => {
  const rows = [
    ['claude-code', 4_960_015],
    ['codex', 4_960_015],
  ] as const;
  for (const [cli, tokens] of rows) {
    const { accounting, task } = play(recording(cli, 'spend'));
    assert.equal(task.snapshot().tokens, tokens, cli);
    assert.equal(accounting.spent.inputTokens + accounting.spent.outputTokens, tokens, cli);
  }
});

test('forty different calls that the agent CLI blocks alike are a suspicion at the fifth, and no halt', () => {
  const { accounting, calls, entries, gear } = play(recording('gemini', 'spend'));
  assert.deepEqual([accounting.halt, calls], [undefined, 40]);
  const suspected = entries.flatMap((entry) => (entry.type === 'loop-suspected' ? [entry.counters] : []));
  assert.deepEqual(
    suspected.map(({ evidence, times }) => [evidence, times]),
    [['same_error', 5]],
  );
  assert.deepEqual(
    gear.cards
      .list()
      .flatMap(({ kind, counters }) => (counters.evidence === undefined ? [] : [[kind, counters.times]])),
    [['notice', 5]],
  );
});

test('a run that the agent ended by its own loop detector is not a success, although it reports one', () => {
  const { accounting } = play(recording('gemini', 'spiral-builtin-guard'));
  assert.deepEqual(accounting.result, {
    type: 'result',
    ok: false,
    final: true,
    reason: 'Loop detected, stopping execution',
  });
});
