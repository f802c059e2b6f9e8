/** An approver that is not there left a question open that nobody waited for. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noApprover } from '../../src/approvers/index.ts';
import { createSwitchgear, refusalOf } from '../../src/index.ts';

test('without an approver, the call is refused and no card stays open', async () => {
  const policy = { rules: [{ target: 'tool:pay', condition: 'ability:pay', action: 'confirm' }] } as const;
  const gear = createSwitchgear({ approver: noApprover, policy, log: 'silent', env: {} });
  const pay = gear.guard('pay', async () => 'paid');
  assert.equal(refusalOf(await pay())?.code, 'rule_unanswered');
  assert.deepEqual(gear.snapshot().cards, []);
  gear.dispose();
});
