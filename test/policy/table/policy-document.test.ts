/** The type of a policy document: what compiles is what the checker takes. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sections } from '../../../src/core/controls/sections.ts';
import { createSwitchgear, type PolicyDocument } from '../../../src/index.ts';
import { checkPolicy } from '../../../src/policy/index.ts';
import { breakerAliases } from '../../../src/policy/table/policy-document.ts';

const quiet = { log: 'silent', env: {} } as const;

test('a document may use every part of a policy, in camel or in snake case', () => {
  const document: PolicyDocument = {
    preset: 'cuedeck',
    mode: 'observe',
    sameErrorTools: ['sql'],
    circuit_breaker: { failure_threshold: 3, recovery_timeout: 5, timeout_secs: 'none' },
    task: { maxToolCalls: 10, max_tokens: 'none' },
    rule_settings: { throttle: 'delay' },
    journal: { level: 'all' },
    tools: { 'search*': { failureThreshold: 2, preset: 'mcp' } },
    agents: { scraper: { circuit_breaker: { trip: 'cumulative' }, task: { max_idle_secs: 60 } } },
    budgets: [{ scope: 'session', unit: 'calls', limit: 100, window_secs: 60 }],
    rules: ['amount>100|confirm|"Ask first."', { target: 'tool:rm', condition: 'ability:rm', action: 'abort' }],
  };
  const { settings } = createSwitchgear({ ...quiet, policy: document });
  assert.equal(settings.circuitBreaker.recoveryTimeoutSecs, 5);
  assert.equal(settings.task.maxToolCalls, 10);
});

test('a checked policy is accepted where a document is', () => {
  const policy = checkPolicy({ task: { max_tool_calls: 7 } });
  assert.equal(createSwitchgear({ ...quiet, policy }).settings.task.maxToolCalls, 7);
});

test('an unknown setting or an impossible value does not compile, and throws', () => {
  // @ts-expect-error: there is no such section.
  assert.throws(() => createSwitchgear({ ...quiet, policy: { tasks: {} } }));
  // @ts-expect-error: there is no such setting.
  assert.throws(() => createSwitchgear({ ...quiet, policy: { task: { max_tool_cals: 1 } } }));
  // @ts-expect-error: there is no such mode.
  assert.throws(() => createSwitchgear({ ...quiet, policy: { mode: 'off' } }));
  // @ts-expect-error: there is no such preset.
  assert.throws(() => createSwitchgear({ ...quiet, policy: { preset: 'bold' } }));
  // @ts-expect-error: a threshold is a number.
  assert.throws(() => createSwitchgear({ ...quiet, policy: { tools: { search: { failure_threshold: '3' } } } }));
  // @ts-expect-error: there is no such action of a rule.
  assert.throws(() => createSwitchgear({ ...quiet, policy: { rules: [{ condition: 'a>1', action: 'abrot' }] } }));
});

test('a document with parts of a checked policy does not compile, and throws', () => {
  // @ts-expect-error: provenance is a part of a checked policy.
  assert.throws(() => createSwitchgear({ ...quiet, policy: { provenance: new Map(), task: {} } }));
  // @ts-expect-error: settings are a part of a checked policy.
  assert.throws(() => createSwitchgear({ ...quiet, policy: { settings: {}, task: {} } }));
});

test('the type of a policy document has every alias of the settings table', () => {
  const aliases = Object.values(sections).flatMap((fields) =>
    Object.values(fields).flatMap(({ aliases = [] }) => aliases),
  );
  assert.deepEqual(
    Object.keys(breakerAliases)
      .filter((name) => name === name.toLowerCase())
      .sort(),
    [...aliases].sort(),
  );
});
