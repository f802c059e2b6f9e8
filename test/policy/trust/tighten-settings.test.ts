import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { defaultSettings } from '../../../src/core/controls/defaults.ts';
import { resolveBreaker } from '../../../src/core/controls/resolve-settings.ts';
import { sections } from '../../../src/core/controls/sections.ts';
import { topFields } from '../../../src/core/declare/general-sections.ts';
import type { Setting } from '../../../src/core/declare/setting.ts';
import { isEqual, stricterOf } from '../../../src/core/declare/strictness.ts';
import { toCamelCase } from '../../../src/core/names.ts';
import type { BreakerSettings, Settings } from '../../../src/core/settings.ts';
import { checkPolicy } from '../../../src/policy/check/check-policy.ts';
import { presets } from '../../../src/policy/table/presets.ts';
import { tightenSettings } from '../../../src/policy/trust/tighten-settings.ts';

const settingsOf = (document: object) => checkPolicy(document).settings;
const tighten = (found: object, base: object = {}) => tightenSettings(settingsOf(base), settingsOf(found));
const waitingOf = (found: object, base: object = {}) => tighten(found, base).waiting;

const allSettings: readonly (readonly [string, Setting])[] = [
  ...Object.entries(topFields),
  ...Object.entries(sections).flatMap(([section, fields]) =>
    Object.entries(fields).map(([name, setting]) => [`${section}.${name}`, setting] as const),
  ),
];

test('every setting declares which of its values protect more', () => {
  for (const [path, setting] of allSettings) {
    const { kind, stricter } = setting;
    const directions: Readonly<Record<Setting['kind'], readonly unknown[]>> = {
      whole: ['lower', 'higher'],
      number: ['lower', 'higher'],
      flag: [true, false],
      choice: ['earlier', 'later'],
      texts: ['more', 'fewer'],
      counts: ['fewer'],
      names: ['fewer'],
      tools: ['fewer'],
    };
    const isNamed = ['default', 'any', ...directions[kind]].includes(stricter);
    const isListed =
      Array.isArray(stricter) && setting.kind === 'choice' && stricter.flat().length === setting.of.length;
    assert.ok(isNamed || isListed || Object.hasOwn(Object(stricter), 'lowerThan'), `${path}: ${String(stricter)}`);
  }
});

test('every part of the settings is compared', () => {
  const compared = [...Object.keys(topFields), ...Object.keys(sections)].map(toCamelCase);
  const parts = [...compared, 'tools', 'agents', 'budgets', 'rules', 'mappings', 'webhooks', 'upstreams'].toSorted();
  const documented = settingsOf({
    mappings: { x: { events: { call: { as: 'tool_use' } } } },
    webhooks: [{ name: 'ops', url: 'https://example.com' }],
    upstreams: [{ name: 'own', url: 'https://example.com' }],
  });
  assert.deepEqual(Object.keys(documented).toSorted(), parts);
});

test('the defaults change nothing, and nothing waits', () => {
  const { settings, waiting } = tightenSettings(defaultSettings, settingsOf({}));
  assert.deepEqual(waiting, []);
  assert.ok(isEqual(settings, settingsOf({})));
});

test('what tightens holds, and what loosens waits, setting by setting', () => {
  const { settings, waiting } = tighten({
    mode: 'observe',
    task: { max_tool_calls: 10, max_spend_cents: 90_000, max_tokens: 500 },
    circuit_breaker: { mode: 'off', failure_threshold: 3, timeout_secs: 'none', ignore_errors: [] },
    loop: { enabled: false, tools: { poll_job: 'off' }, repeats: 4, card_points: 20 },
    delegation: { on_failure: 'end', worker_limits: { coder: 9, tester: 1 } },
    prices: { on_unknown_price: 'halt' },
    journal: { content: 'full', level: 'all' },
    abilities: { shell: true },
    same_error_tools: ['*'],
    mappings: { claude: { events: { call: { as: 'tool_use' } } } },
    webhooks: [{ name: 'ops', url: 'https://example.com' }],
    upstreams: [{ name: 'own', url: 'https://example.com' }],
    gateway: { allow_unpriced: ['*'], clamp: 'always' },
    alerts: { trips_per_hour: 'none', waiting_secs: 60 },
  });
  assert.deepEqual(waiting.toSorted(), [
    'abilities.shell',
    'alerts.trips_per_hour',
    'circuit_breaker.mode',
    'circuit_breaker.timeout_secs',
    'delegation.worker_limits',
    'gateway.allow_unpriced',
    'journal.content',
    'loop.enabled',
    'loop.tools',
    'mappings',
    'mode',
    'same_error_tools',
    'task.max_spend_cents',
    'upstreams',
    'webhooks',
  ]);
  assert.equal(settings.webhooks, undefined);
  assert.equal(settings.upstreams, undefined);
  assert.equal(settings.alerts.tripsPerHour, 5);
  assert.equal(settings.alerts.waitingSecs, 60);
  assert.equal(settings.mode, 'enforce');
  assert.equal(settings.task.maxToolCalls, 10);
  assert.equal(settings.task.maxSpendCents, 5000);
  assert.equal(settings.task.maxTokens, 500);
  assert.equal(settings.circuitBreaker.failureThreshold, 3);
  assert.equal(settings.circuitBreaker.timeoutSecs, 30);
  assert.deepEqual([settings.loop.repeats, settings.loop.cardPoints], [4, 20]);
  assert.deepEqual(settings.delegation.workerLimits, { tester: 1 });
  assert.equal(settings.delegation.onFailure, 'end');
  assert.equal(settings.prices.onUnknownPrice, 'halt');
  assert.deepEqual(settings.sameErrorTools, []);
  assert.equal(settings.mappings, undefined);
});

test('rules and budgets are added at once, and removed with trust only', () => {
  const before = {
    rules: ['ability:Bash|abort', 'amount>500|confirm'],
    budgets: [{ scope: 'session', unit: 'calls', limit: 10 }],
  };
  const after = {
    rules: ['amount>500|confirm', 'amount>900|abort'],
    budgets: [{ scope: 'project', unit: 'calls', limit: 5 }],
  };
  assert.deepEqual(waitingOf(before), []);
  const { settings, waiting } = tighten(after, before);
  assert.deepEqual(waiting, ['budgets', 'rules']);
  assert.deepEqual(
    settings.rules.map(({ condition }) => condition),
    ['ability:Bash', 'amount>500', 'amount>900'],
  );
  assert.deepEqual(
    settings.budgets.map(({ scope, limit }) => [scope, limit]),
    [
      ['project', 5],
      ['session', 10],
    ],
  );
  assert.deepEqual(waitingOf({ budgets: [{ scope: 'session', unit: 'calls', limit: 11 }] }, before), [
    'budgets',
    'rules',
  ]);
});

test('overrides of tools and agents, and presets, are compared with what would hold without them', () => {
  assert.deepEqual(waitingOf({ tools: { 'Ba*': { mode: 'off' } } }), ['tools."Ba*".mode']);
  assert.deepEqual(waitingOf({ tools: { Bash: { failure_threshold: 2 } } }), []);
  assert.deepEqual(waitingOf({ agents: { coder: { task: { max_tool_calls: 500 } } } }), [
    'agents.coder.task.max_tool_calls',
  ]);
  assert.deepEqual(waitingOf({ preset: 'strict' }), ['loop.near_call_points']);
  assert.ok(waitingOf({ preset: 'cautious' }).includes('loop.card_points'));
  assert.ok(waitingOf({ tools: { x: { preset: 'llm' } } }).includes('tools.x.timeout_secs'));
  assert.deepEqual(waitingOf({ preset: 'default' }), []);
  assert.deepEqual(waitingOf({ preset: 'blackbox' }), []);
});

test('another pattern for the same tool does not loosen an earlier one', () => {
  const { settings, waiting } = tighten(
    { tools: { 'B*': { failure_threshold: 2 }, '*sh': { failure_threshold: 5 } } },
    { tools: { 'B*': { failure_threshold: 2 } } },
  );
  assert.deepEqual(waiting, ['tools."*sh".failure_threshold']);
  assert.equal(resolveBreaker(settings, { tool: 'Bash' }).failureThreshold, 2);
});

test('an override that is gone stays until the change is trusted', () => {
  const before = { tools: { Bash: { failure_threshold: 2 } }, agents: { coder: { task: { max_tool_calls: 3 } } } };
  const { settings, waiting } = tighten({}, before);
  assert.deepEqual(waiting, ['tools.Bash.failure_threshold', 'agents.coder.task.max_tool_calls']);
  assert.equal(resolveBreaker(settings, { tool: 'Bash' }).failureThreshold, 2);
  assert.equal(settings.agents.coder?.task?.maxToolCalls, 3);
});

const presetNames = Object.keys(presets);
const breakerPart = fc.record(
  {
    failure_threshold: fc.integer({ min: 1, max: 9 }),
    mode: fc.constantFrom('enforce', 'observe', 'off'),
    recovery_timeout_secs: fc.integer({ min: 1, max: 90 }),
    timeout_secs: fc.constantFrom('none', 10, 60),
    same_error_only: fc.boolean(),
  },
  { requiredKeys: [] },
);
const toolNames = fc.constantFrom('Bash', 'B*', '*sh', '*', 'tool_Bash', 'Read');
const documents = fc.record(
  {
    preset: fc.constantFrom(...presetNames),
    circuit_breaker: breakerPart,
    tools: fc.dictionary(toolNames, breakerPart, { maxKeys: 4 }),
    agents: fc.dictionary(fc.constantFrom('coder', 'tester'), fc.record({ circuit_breaker: breakerPart })),
    same_error_tools: fc.subarray(['Bash', 'B*', 'sql']),
  },
  { requiredKeys: [] },
);

/** The setting of a breaker by its name in TypeScript. */
const breakerSettings = Object.fromEntries(
  Object.entries(sections.circuit_breaker!).map(([name, setting]) => [toCamelCase(name), setting]),
);

test('no pair of policies gives a tool a breaker that protects less than the first policy', () => {
  let waited = 0;
  fc.assert(
    fc.property(documents, documents, (one, other) => {
      const base = settingsOf(one);
      const { settings, waiting } = tightenSettings(base, settingsOf(other));
      if (waiting.length > 0) waited++;
      for (const tool of ['Bash', 'Read', 'zsh', 'tool_Bash']) {
        for (const agent of [undefined, 'coder', 'tester']) {
          const before = resolveBreaker(base, { tool, agent });
          const after = resolveBreaker(settings, { tool, agent });
          for (const key of Object.keys(before) as (keyof BreakerSettings)[]) {
            const strictest = stricterOf(breakerSettings[key]!, before[key], after[key]);
            assert.deepEqual(strictest, after[key], `${key} of ${tool} by ${agent}`);
          }
        }
      }
    }),
    { numRuns: 400, seed: 11 },
  );
  assert.ok(waited > 100);
});

test('tightening is stable: the result of a comparison waits for nothing', () => {
  fc.assert(
    fc.property(documents, documents, (one, other) => {
      const base: Settings = settingsOf(one);
      const { settings } = tightenSettings(base, settingsOf(other));
      assert.ok(isEqual(tightenSettings(base, settings).settings.circuitBreaker, settings.circuitBreaker));
    }),
    { numRuns: 200, seed: 5 },
  );
});
