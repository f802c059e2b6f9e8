import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createParamRedactor, createParamRestorer } from '../../../src/chains/run/parameter-redaction.ts';
import type { RuleText } from '../../../src/core/settings.ts';

const rule = (condition: string, reason?: string): RuleText => ({
  target: 'chain:c',
  condition,
  action: 'confirm',
  ...(reason !== undefined && { reason }),
});
const chain = (...rules: readonly RuleText[]) => ({ id: 'c', rules });

test('text parameters are redacted from rule ids and reasons; numbers and booleans stay', () => {
  const veil = createParamRedactor(chain(rule('output:page|contains:{{key}}', '{{key}} up to {{most}}, {{fast}}')), {
    key: 's3cret',
    most: 40,
    fast: true,
  });
  const card = {
    kind: 'ask',
    evidence: ['c: step s3cret wants to call x', 's3cret up to 40, true; page contains "s3cret"'],
    step: { id: 's3cret', rules: ['chain:c|output:page|contains:s3cret|confirm'] },
    rows: [{ rule: 'chain:c|output:page|contains:s3cret|confirm', fired: false, limit: 's3cret' }],
  };
  assert.deepEqual(veil(card), {
    kind: 'ask',
    evidence: ['c: step s3cret wants to call x', '{{key}} up to 40, true; page contains "{{key}}"'],
    step: { id: 's3cret', rules: ['chain:c|output:page|contains:{{key}}|confirm'] },
    rows: [{ rule: 'chain:c|output:page|contains:{{key}}|confirm', fired: false, limit: '…' }],
  });
});

test('a window parameter stays, and the reason of its rule is still redacted', () => {
  const veil = createParamRedactor(chain(rule('frequency>3/{{window}}', 'not for {{who}}')), {
    window: '1h',
    who: 'ann',
  });
  const kept = { reason: 'not for ann', rules: ['chain:c|frequency>3/1h|confirm'] };
  assert.deepEqual(veil(kept), { reason: 'not for {{who}}', rules: kept.rules });
});

test('a parameter of one letter or no text leaves other text unchanged', () => {
  for (const x of ['a', ' ']) {
    const veil = createParamRedactor(chain(rule('ability:pay', '{{x}}')), { x });
    const kept = { type: 'card-changed', code: 'a', rules: ['chain:c|ability:pay|confirm'], message: 'b' };
    assert.deepEqual(veil(kept), kept);
  }
});

test('restoring the parameters gives back the original card', () => {
  const from = [chain(rule('output:page|contains:{{key}}', 'is {{key}} there?')), { key: 's3cret' }] as const;
  const card = {
    evidence: ['x', 'is s3cret there?'],
    step: { rules: ['chain:c|output:page|contains:s3cret|confirm'] },
  };
  assert.notDeepEqual(createParamRedactor(...from)(card), card);
  assert.deepEqual(createParamRestorer(...from)(createParamRedactor(...from)(card)), card);
});
