import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Action } from '../../../../src/core/action.ts';
import { success } from '../../../../src/core/action.ts';
import {
  chainRunName,
  type RulesControl,
  type RulesState,
  rulesControl,
} from '../../../../src/core/controls/rules/control.ts';
import { parseRule, type Rule } from '../../../../src/core/controls/rules/rule.ts';
import { ruleCellsMax } from '../../../../src/core/limits.ts';
import type { RuleSettings } from '../../../../src/core/settings.ts';
import { allow, type Stop, type Verdict } from '../../../../src/core/verdict.ts';

const settings: RuleSettings = {
  onMissing: 'fire',
  lookup: ['outputs'],
  throttle: 'skip',
  maxDelaySecs: 10,
  minIntervalSecs: 60,
};
const hour = 3_600_000;

function rule(text: string, target = '*'): Rule {
  const parsed = parseRule(text, { target });
  assert.ok(parsed.rule, parsed.error);
  return parsed.rule;
}

function action(more: Partial<Action> = {}): Action {
  const base = { id: 1, kind: 'tool', name: 'mail.send', agent: 'A', session: 's', task: 't' } as const;
  return { ...base, fingerprint: 0, worstMicros: 0, worstTokens: 0, patienceMs: 0, ...more };
}

/** A control with its state; every state goes through JSON, as a store would have it. */
function bench(rules: readonly Rule[], over: Partial<RuleSettings> = {}) {
  const control: RulesControl = rulesControl(rules, { ...settings, ...over });
  let state: RulesState = control.initial(0);
  return {
    get state() {
      return state;
    },
    due: (more: Partial<Action> = {}) => control.due(state, action(more)),
    judge(atMs: number, more: Partial<Action> = {}): Verdict {
      const before = JSON.stringify(state);
      const verdict = control.judge(state, { type: 'action-proposed', atMs, action: action(more) }, 'self');
      assert.equal(JSON.stringify(state), before, 'judging writes nothing');
      return verdict;
    },
    propose(atMs: number, more: Partial<Action> = {}): Verdict {
      const verdict = this.judge(atMs, more);
      state = control.apply(state, { type: 'action-decided', atMs, action: action(more), verdict }, 'self');
      state = JSON.parse(JSON.stringify(state));
      return verdict;
    },
    settle(atMs: number, hits: readonly Rule[], more: Partial<Action> = {}): void {
      const permit = { action: action(more), atMs, generation: 0, probe: false };
      const resultHits = hits.map((one) => ({ rule: one.id, seen: 'seen' }));
      state = control.apply(state, { type: 'action-settled', atMs, permit, outcome: success, resultHits }, 'self');
    },
  };
}

function stop(verdict: Verdict): Stop {
  assert.notEqual(verdict.kind, 'allow');
  return verdict as Stop;
}

function hits(...rules: readonly Rule[]): Partial<Action> {
  return { hits: rules.map((one) => ({ rule: one.id, seen: `seen ${one.condition.kind}` })) };
}

describe('fired rules', () => {
  const abort = rule('a>1|abort|"too much"');
  const abortToo = rule('b>1|abort');
  const confirm = rule('c>1|confirm|"sure?"');
  const confirmToo = rule('ability:mail.*|confirm');
  const throttle = rule('d>1|throttle');
  const rules = [abort, abortToo, confirm, confirmToo, throttle];

  it('halt on abort, with the reasons of all abort rules', () => {
    const verdict = stop(bench(rules).judge(0, hits(confirm, abort, abortToo)));
    assert.equal(verdict.kind, 'halt');
    assert.equal(verdict.code, 'rule_abort');
    assert.equal(verdict.reason, 'too much; seen threshold');
    assert.deepEqual(verdict.rules, [abort.id, abortToo.id]);
    assert.deepEqual(verdict.counters, { rule: abort.id, limit: 1 });
  });

  it('ask once for all confirm rules', () => {
    const verdict = stop(bench(rules).judge(0, hits(confirm, confirmToo)));
    assert.equal(verdict.kind, 'ask');
    assert.deepEqual(verdict.rules, [confirm.id, confirmToo.id]);
    assert.equal(verdict.reason, 'sure?; seen ability');
  });

  it('do not ask again after an approval, but still abort', () => {
    assert.equal(bench(rules).judge(0, { ...hits(confirm), approvedBy: 'Ann' }).kind, 'allow');
    assert.equal(bench(rules).judge(0, { ...hits(confirm, abort), approvedBy: 'Ann' }).kind, 'halt');
  });

  it('allow an action without hits, and a hit of a rule that is not in force', () => {
    assert.equal(bench(rules).judge(0).kind, 'allow');
    assert.equal(bench([]).judge(0, hits(abort)).kind, 'allow');
  });

  it('enforce a minimum interval between actions under a throttle without a frequency', () => {
    const at = bench(rules);
    assert.equal(at.propose(1_000, hits(throttle)).kind, 'allow');
    const verdict = stop(at.propose(2_000, hits(throttle)));
    assert.equal(verdict.kind, 'deny');
    assert.equal(verdict.code, 'rule_throttled');
    assert.equal(verdict.retryAtMs, 61_000);
    assert.equal(at.propose(3_000).kind, 'allow');
    assert.equal(at.propose(61_000, hits(throttle)).kind, 'allow');
  });

  it('give the strictest verdict: a throttle refusal before a question, a question before a wait', () => {
    for (const [mode, kind] of [
      ['skip', 'deny'],
      ['delay', 'ask'],
    ] as const) {
      const at = bench(rules, { throttle: mode, maxDelaySecs: 100 });
      at.propose(0, { ...hits(throttle, confirm), approvedBy: 'Ann' });
      assert.equal(at.judge(1, hits(throttle, confirm)).kind, kind);
    }
  });
});

describe('frequency outside chains', () => {
  it('counts admitted calls, the current one included, in a sliding window', () => {
    const at = bench([rule('frequency>10/1h|throttle|"slow down"', 'tool:mail.*')]);
    for (let i = 0; i < 10; i++) assert.equal(at.propose(i * 1_000, { name: `mail.${i}` }).kind, 'allow');
    const verdict = stop(at.propose(20_000));
    assert.equal(verdict.kind, 'deny');
    assert.equal(verdict.retryAtMs, hour);
    assert.equal(verdict.reason, 'slow down');
    assert.deepEqual(verdict.counters, {
      rule: 'tool:mail.*|frequency>10/1h|throttle',
      actual: 11,
      limit: 10,
      window: '1h',
    });
    assert.equal(at.propose(20_000, { name: 'shell' }).kind, 'allow');
    assert.equal(at.propose(hour - 1).kind, 'deny');
    assert.equal(at.propose(hour).kind, 'allow', 'refused calls did not count');
    assert.equal(at.propose(hour).kind, 'deny', 'it slides, it does not start anew');
    assert.equal(at.propose(hour + 1_000).kind, 'allow');
  });

  it('keeps no more times than the rule needs', () => {
    const at = bench([rule('frequency>3/1s|abort')]);
    for (let i = 0; i < 100; i++) at.propose(i * 1_000);
    assert.ok((Object.values(at.state.times.items)[0]?.times.length ?? 99) <= 7);
  });

  it('waits if the delay is short enough, otherwise refuses with the retry time', () => {
    const at = bench([rule('frequency>1/1m|throttle')], { throttle: 'delay', maxDelaySecs: 10 });
    at.propose(0);
    assert.deepEqual([at.judge(50_000).kind, stop(at.judge(50_000)).retryAtMs], ['wait', 60_000]);
    assert.deepEqual([at.judge(49_999).kind, stop(at.judge(49_999)).retryAtMs], ['deny', 60_000]);
    assert.equal(at.judge(60_000).kind, 'allow');
  });

  it('refuses every call without a retry time if the allowed count is zero', () => {
    const verdict = stop(bench([rule('frequency>0/1s|throttle')], { throttle: 'delay' }).judge(0));
    assert.equal(verdict.kind, 'deny');
    assert.equal(verdict.retryAtMs, undefined);
  });

  it('aborts and asks as the rule says, with a reason that states the count and the limit', () => {
    for (const [word, kind] of [
      ['abort', 'halt'],
      ['confirm', 'ask'],
    ] as const) {
      const at = bench([rule(`frequency>1/1h|${word}`)]);
      at.propose(0);
      assert.equal(stop(at.judge(1)).kind, kind);
      assert.equal(stop(at.judge(1)).reason, 'frequency 2 exceeds 1 per 1h');
    }
  });

  it('counts by agent, and counts steps and model calls only for a rule that names the tool', () => {
    const at = bench([rule('frequency>0/1h|abort', 'agent:A')]);
    assert.equal(at.judge(0).kind, 'halt');
    assert.equal(at.judge(0, { agent: 'B' }).kind, 'allow');
    for (const kind of ['model', 'step'] as const) {
      assert.equal(at.judge(0, { kind }).kind, 'allow');
      assert.equal(bench([rule('frequency>0/1h|abort', 'tool:mail.*')]).judge(0, { kind }).kind, 'halt');
    }
  });
});

describe('frequency in chains', () => {
  it('counts the runs of each chain separately, also for a rule about all chains', () => {
    const at = bench([rule('frequency>1/1h|throttle', '*')]);
    const run = (chain: string) => ({ kind: 'step', name: chainRunName(chain) }) as const;
    assert.equal(at.propose(0, run('trade')).kind, 'allow');
    assert.equal(at.propose(1, run('trade')).kind, 'deny');
    assert.equal(at.propose(1, run('other')).kind, 'allow');
    const one = bench([rule('frequency>0/1h|throttle', 'trade')]);
    assert.equal(one.judge(0, run('trade')).kind, 'deny');
    assert.equal(one.judge(0, run('other')).kind, 'allow');
  });

  it('drops the oldest chains when there are too many', () => {
    const at = bench([rule('frequency>1/1h|throttle', '*')]);
    const control = rulesControl([rule('frequency>1/1h|throttle', '*')], settings);
    for (let i = 0; i <= ruleCellsMax; i++) {
      const decided = action({ kind: 'step', name: chainRunName(`c${i}`) });
      control.apply(at.state, { type: 'action-decided', atMs: 0, action: decided, verdict: { kind: 'allow' } }, 'self');
    }
    assert.equal(Object.keys(at.state.times.items).length, at.state.times.size);
    assert.ok(at.state.times.size <= ruleCellsMax && at.state.times.size > ruleCellsMax / 2);
  });
});

describe('an output rule that fired on a result', () => {
  it('is due once, however often the rule fired, together with other fired rules', () => {
    const [first, second] = [rule('output:a|contains:x|abort'), rule('output:b|contains:x|abort')];
    const at = bench([first, second]);
    at.settle(0, [first]);
    at.settle(1, [first, second]);
    assert.deepEqual(stop(at.due()).rules, [first.id, second.id]);
  });

  it('halts its task, on a check and at the next action', () => {
    const abort = rule('output:error|contains:fail|abort');
    const at = bench([abort]);
    at.settle(0, [abort]);
    assert.equal(stop(at.due()).code, 'rule_abort');
    assert.equal(at.due({ task: 'other' }).kind, 'allow');
    assert.equal(at.judge(1, { task: 'other' }).kind, 'allow');
    assert.equal(stop(at.propose(1)).reason, 'seen');
    assert.equal(at.due().kind, 'allow', 'from here on the halt is latched by the task');
  });

  it('asks before every next action of its task until an action is approved', () => {
    const confirm = rule('output:error|contains:fail|confirm');
    const at = bench([confirm]);
    at.settle(0, [confirm]);
    assert.equal(at.due().kind, 'allow');
    assert.equal(at.propose(1).kind, 'ask');
    assert.equal(at.propose(2).kind, 'ask');
    assert.equal(at.propose(3, { approvedBy: 'Ann' }).kind, 'allow');
    assert.equal(at.propose(4).kind, 'allow');
  });

  it('delays the next action of its task', () => {
    const throttle = rule('output:error|contains:fail|throttle');
    const at = bench([throttle]);
    at.settle(1_000, [throttle]);
    assert.equal(stop(at.propose(2_000)).retryAtMs, 61_000);
    assert.equal(at.propose(61_000).kind, 'allow');
    assert.equal(at.propose(61_001).kind, 'allow');
  });

  it('outside any task applies to the next call of the agent, once per rule', () => {
    const abort = rule('output:error|contains:fail|abort');
    const at = bench([abort]);
    const { task: _, ...outside } = action();
    const control = rulesControl([abort], settings);
    const permit = { action: outside, atMs: 0, generation: 0, probe: false };
    const resultHits = [{ rule: abort.id, seen: 'seen' }];
    for (const atMs of [0, 1])
      control.apply(at.state, { type: 'action-settled', atMs, permit, outcome: success, resultHits }, 'self');
    assert.equal(control.judge(at.state, { type: 'action-proposed', atMs: 2, action: outside }, 'self').kind, 'halt');
    assert.equal(stop(control.due(at.state, outside)).rules?.length, 1);
    assert.equal(at.judge(2).kind, 'allow');
  });

  it('is kept for a bounded number of tasks', () => {
    const abort = rule('output:error|contains:fail|abort');
    const at = bench([abort]);
    for (let i = 0; i <= ruleCellsMax; i++) at.settle(0, [abort], { task: `t${i}` });
    assert.equal(Object.keys(at.state.due.items).length, at.state.due.size);
    assert.ok(at.state.due.size <= ruleCellsMax && at.state.due.size > ruleCellsMax / 2);
    assert.equal(at.due({ task: `t${ruleCellsMax}` }).kind, 'halt');
  });
});

describe('the cell of the rules', () => {
  it('is one for the whole gear, and a rule with an allowed count of zero records no times', () => {
    const never = rulesControl([rule('frequency>0/1h|throttle')], settings);
    assert.deepEqual([never.name, never.scope], ['rules', 'gear']);
    const state = never.apply(
      never.initial(0),
      { type: 'action-decided', atMs: 0, action: action(), verdict: allow },
      'self',
    );
    assert.equal(state.times.size, 0);
  });
});
