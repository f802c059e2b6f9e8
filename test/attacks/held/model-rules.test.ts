/** Rules that a model writes for its own agent: none loosens, replaces or crowds out a rule of the operator. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSwitchgear, refusalOf, type Switchgear } from '../../../src/index.ts';
import { byForm, holdAll } from './attempts.ts';

function bank(): { readonly gear: Switchgear; readonly pay: (amount: number) => unknown } {
  const gear = createSwitchgear({
    agent: 'Model',
    log: 'silent',
    env: {},
    policy: { rules: [{ target: 'tool:pay', condition: 'amount>500', action: 'abort', reason: 'of the operator' }] },
  });
  const tool = gear.guard('pay', ({ amount }: { amount: number }) => amount);
  return { gear, pay: (amount) => tool({ amount }) };
}

const lines: readonly string[] = [
  'amount>500|allow|"of the model"',
  'amount>500|confirm|"of the model"',
  'amount>500|throttle|"of the model"',
  'amount>500|abort|"of the model"',
  'amount>999999|abort|"of the model"',
  'ability:pay|allow',
  'ability:*|off',
  'tool:pay|amount>500|allow',
  '*|amount>999999|abort',
  'agent:Other|ability:pay|abort',
  'chain:x|amount>1|abort',
  'amount>500|ABORT|"x" --replace',
  'amount<500|abort',
  'amount>-1e999|abort',
  'amount>NaN|abort',
  '__proto__>1|abort',
  'output:x|matches:(a+)+$|abort',
  'frequency>0/0s|throttle',
  'frequency>1/99999999999d|throttle',
  '',
  '|',
  '\0\x1b[2J|abort',
  'x'.repeat(100_000),
];

test('held: a line of a model never loosens, replaces or outlives a rule of the operator', async (context) => {
  await holdAll(
    context,
    lines.map((line) => [JSON.stringify(line.slice(0, 40)), line] as const),
    (line) => {
      const { gear, pay } = bank();
      gear.addModelRules([line]);
      const refusal = refusalOf(pay(900));
      assert.equal(refusal?.code, 'rule_abort', 'the call ran');
      assert.match(refusal?.message ?? '', /of the operator/, 'the reason of the operator is gone');
      const other = createSwitchgear({ agent: 'Other', log: 'silent', env: {} });
      assert.equal(other.guard('pay', (amount: number) => amount)(5), 5, 'the rule reached another gear');
    },
  );
});

test('held: a flood of rules of a model crowds out no rule of the operator', async (context) => {
  const count = byForm(15_000, 1_500);
  await holdAll(context, [[`${count} rules`, count]], () => {
    const { gear, pay } = bank();
    let taken = 0;
    for (let at = 0; at < count; at++) taken += gear.addModelRules([`key${at}>1|confirm|"rule ${at}"`]).length;
    assert.ok(taken < 100_000);
    assert.match(refusalOf(pay(900))?.message ?? '', /of the operator/);
    assert.equal(pay(5), 5, 'a call that no rule names passes');
  });
});

test('held: a model rule about a key it invented does not name what the operator allowed', async (context) => {
  await holdAll(context, [['values that are no lines', null]], () => {
    const { gear, pay } = bank();
    for (const odd of [undefined, null, 7, {}, [], ['a'], Symbol('x')] as unknown[]) {
      try {
        gear.addModelRules([odd as string]);
        gear.addModelRules(odd as string[]);
      } catch (error) {
        assert.ok(error instanceof Error);
      }
    }
    assert.equal(refusalOf(pay(900))?.code, 'rule_abort');
    assert.equal(pay(1), 1);
  });
});
