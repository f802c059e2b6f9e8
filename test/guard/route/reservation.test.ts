import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createSwitchgear } from '../../../src/guard/create-switchgear.ts';
import { type RelayedCall, relayCall } from '../../../src/guard/entries/relayed-call.ts';
import { runtimeOf, startTask } from '../../../src/guard/internal.ts';
import { memoryStore } from '../../../src/stores/memory.ts';
import { sqliteStore } from '../../../src/stores/sqlite/index.ts';
import { simulatedClock } from '../../../src/testing/simulated-clock.ts';

const target = { name: 'claude-sonnet-4', kind: 'model', isOpaque: true } as const;

function open(options: Parameters<typeof createSwitchgear>[0], limits = {}) {
  const gear = createSwitchgear({ agent: 'test', log: 'silent', env: {}, ...options });
  const runtime = runtimeOf(gear);
  const task = startTask(runtime, { parent: null, limits }, undefined);
  const begin = (usd: number): RelayedCall => {
    const begun: RelayedCall[] = [];
    const refuse = (refusal: object) => assert.fail(JSON.stringify(refusal));
    const rest = { begin: (call: RelayedCall) => begun.push(call), refuse, giveUp() {} };
    relayCall(runtime, { target, task, args: [], maxCost: { usd, tokens: 0 }, ...rest });
    return begun[0]!;
  };
  return { gear, task, begin };
}

test('a running call reserves more until a limit of its task, and releases all of it', () => {
  const { gear, task, begin } = open({ store: memoryStore() }, { maxSpendCents: 10 });
  const isHalted = () => task.halt?.code === 'token_spend_limit';
  const call = begin(0.02);
  assert.equal(call.reserve({ micros: 60_000, tokens: 0 }), undefined);
  assert.equal(task.cells.budget.state.reservedMicros, 60_000);
  assert.equal(call.reserve({ micros: 30_000, tokens: 0 }), undefined);
  const other = begin(0.05);
  assert.equal(call.reserve({ micros: 60_000, tokens: 0 }, true)?.code, 'token_spend_limit');
  assert.ok(!isHalted(), 'an optional amount halts nothing');
  assert.equal(call.reserve({ micros: 50_000, tokens: 0 }), undefined);
  assert.equal(call.reserve({ micros: 50_001, tokens: 0 })?.kind, 'halt');
  assert.ok(isHalted());
  for (const each of [call, other]) each.settleMetered({ cancelled: true }, { inputTokens: 0, outputTokens: 0 });
  assert.equal(task.cells.budget.state.reservedMicros, 0);
  gear.dispose();
});

for (const kind of ['memory', 'sqlite'] as const) {
  test(`a joint budget gets back what a call reserved, and never grants more than it has: ${kind}`, (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'switchgear-reserve-'));
    const store = kind === 'memory' ? memoryStore() : sqliteStore({ path: join(folder, 'gear.db') });
    const policy = {
      budgets: [
        { scope: 'global', unit: 'spend_cents', limit: 10 },
        { scope: 'session', unit: 'tokens', limit: 5_000 },
      ],
    } as const;
    const { gear, begin } = open({ store, policy }, {});
    context.after(() => {
      gear.dispose();
      if ('close' in store) store.close();
      rmSync(folder, { recursive: true, force: true });
    });
    const call = begin(0.01);
    assert.equal(call.reserve({ micros: 80_000, tokens: 4_000 }), undefined);
    assert.equal(call.reserve({ micros: 90_000, tokens: 5_001 }, true)?.code, 'token_limit');
    assert.equal(call.reserve({ micros: 100_001, tokens: 4_000 }, true)?.code, 'token_spend_limit');
    assert.equal(call.reserve({ micros: 100_000, tokens: 5_000 }), undefined, 'nothing of a refused growth is kept');
    call.settleMetered(
      { value: undefined },
      { model: 'claude-sonnet-4-20250514', inputTokens: 1_000, outputTokens: 0 },
    );
    const next = begin(0.01);
    assert.equal(next.reserve({ micros: 97_000, tokens: 4_000 }), undefined, 'the rest is free again');
    next.settleMetered({ cancelled: true }, undefined);
  });
}

for (const kind of ['memory', 'sqlite'] as const) {
  test(`a reservation that grew in a later slice of a window comes back as a whole: ${kind}`, (context) => {
    const folder = mkdtempSync(join(tmpdir(), 'switchgear-reserve-'));
    const clock = simulatedClock();
    const store = kind === 'memory' ? memoryStore(clock) : sqliteStore({ path: join(folder, 'gear.db'), clock });
    const policy = {
      budgets: [{ scope: 'global', unit: 'spend_cents', limit: 10, windowSecs: 1_000 }],
    } as const;
    const { gear, begin } = open({ store, policy, clock }, {});
    context.after(() => {
      gear.dispose();
      if ('close' in store) store.close();
      rmSync(folder, { recursive: true, force: true });
    });
    for (let at = 0; at < 5; at++) {
      const call = begin(0.02);
      clock.advance(40_000);
      assert.equal(call.reserve({ micros: 60_000, tokens: 0 }), undefined);
      clock.advance(40_000);
      assert.equal(call.reserve({ micros: 90_000, tokens: 0 }), undefined);
      clock.advance(40_000);
      call.settleMetered({ value: undefined }, { inputTokens: 0, outputTokens: 0, costUsd: 0.001 });
    }
    const last = begin(0.09);
    assert.equal(last.reserve({ micros: 95_000, tokens: 0 }), undefined, 'only half a cent is used');
    assert.equal(last.reserve({ micros: 95_001, tokens: 0 })?.kind, 'halt');
  });
}
