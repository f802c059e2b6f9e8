import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkPolicy } from '../../../src/policy/check/check-policy.ts';

test('webhooks have defaults, and by default there are none', () => {
  const { settings } = checkPolicy({ webhooks: [{ name: 'ops', url_env: 'OPS_URL', secret_file: '/run/secret' }] });
  assert.deepEqual(JSON.parse(JSON.stringify(settings.webhooks)), [
    { name: 'ops', urlEnv: 'OPS_URL', secretFile: '/run/secret', format: 'json', events: ['alerts'] },
  ]);
  assert.equal(checkPolicy({}).settings.webhooks, undefined);
});

test('an alert is switched off with the word none, and with no other', () => {
  const { alerts } = checkPolicy({ alerts: { failure_rate: 'none', waiting_secs: 5 } }).settings;
  assert.ok(alerts.failureRate > 1e9);
  assert.equal(alerts.waitingSecs, 5);
  for (const value of [0, false, null, 'off', -1])
    assert.throws(() => checkPolicy({ alerts: { trips_per_hour: value } }), { code: 'invalid_policy' });
});

const url = 'https://example.com/hook';
for (const [title, webhook, problem] of [
  ['no name', { url }, /webhooks\[0\] must set name/],
  ['a name with a space', { name: 'a b', url }, /webhooks\[0\]\.name must be 1 to 40 letters/],
  ['no address', { name: 'a' }, /must set one of url, url_env and url_file/],
  ['two addresses', { name: 'a', url, url_env: 'X' }, /must set one of url, url_env and url_file/],
  [
    'another protocol',
    { name: 'a', url: 'file:///etc/passwd' },
    /\.url must be an address that starts with https:\/\//,
  ],
  ['no text', { name: 'a', url: 7 }, /\.url must be an address/],
  ['two secrets', { name: 'a', url, secret_env: 'A', secret_file: 'b' }, /must set one of secret_env and secret_file/],
  [
    'a typo',
    { name: 'a', url, secrets_env: 'A' },
    /secrets_env is not a field of a webhook; did you mean secret_env\?/,
  ],
  ['a secret in the policy', { name: 'a', url, secret: 'abc' }, /secret is not a field of a webhook/],
  ['an unknown format', { name: 'a', url, format: 'teams' }, /format must be "json" or "slack", got "teams"/],
  [
    'an unknown event',
    { name: 'a', url, events: ['alert'] },
    /events must be a list of "alerts", "halts" or "questions"/,
  ],
  ['no events', { name: 'a', url, events: [] }, /events must be a list/],
] as const) {
  test(`a webhook with ${title} is refused`, () => {
    assert.throws(() => checkPolicy({ webhooks: [webhook] }), { code: 'invalid_policy', message: problem });
  });
}

test('two webhooks have different names', () => {
  const webhooks = [
    { name: 'a', url },
    { name: 'a', url },
  ];
  assert.throws(() => checkPolicy({ webhooks }), { message: /webhooks\[1\] repeats the name "a"/ });
});

test('an address with a password is refused, and not quoted', () => {
  const password = ['hun', 'ter2'].join('');
  const webhooks = [{ name: 'a', url: `https://ann:${password}@example.com/` }];
  assert.throws(
    () => checkPolicy({ webhooks }),
    (error: Error) => /must have no user and password/.test(error.message) && !error.message.includes(password),
  );
});
