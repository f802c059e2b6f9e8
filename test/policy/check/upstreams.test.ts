import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkPolicy } from '../../../src/policy/check/check-policy.ts';
import { explainPolicy } from '../../../src/policy/pages/explain.ts';

const url = 'https://llm.example.com';

test('upstreams have defaults, and by default there are none', () => {
  const { settings } = checkPolicy({ upstreams: [{ name: 'own', url, key_env: 'OWN_KEY' }] });
  assert.deepEqual(JSON.parse(JSON.stringify(settings.upstreams)), [
    {
      ...{ name: 'own', url, apis: ['anthropic', 'openai', 'gemini'], models: ['*'], headers: {} },
      keyEnv: 'OWN_KEY',
    },
  ]);
  assert.equal(checkPolicy({}).settings.upstreams, undefined);
});

const wrong: readonly (readonly [string, object, RegExp])[] = [
  ['no name', { url }, /upstreams\[0\] must set name/],
  ['no address', { name: 'a' }, /upstreams\[0\] must set url/],
  ['an address with a query', { name: 'a', url: `${url}?key=x` }, /must have no query/],
  [
    'an address with a password',
    { name: 'a', url: 'https://ann:secret@example.com' },
    /must have no user and password/,
  ],
  ['another scheme', { name: 'a', url: 'file:///etc/passwd' }, /must be an address that starts with https/],
  [
    'an unknown API',
    { name: 'a', url, apis: ['cohere'] },
    /must be a list of "anthropic", "openai" or "gemini", got "cohere"/,
  ],
  ['no models', { name: 'a', url, models: [] }, /must be a list of 1 to 200 globs/],
  ['a header with a line break', { name: 'a', url, headers: { 'x-a': 'b\r\nc: d' } }, /must be a text of one line/],
  ['a header of the connection', { name: 'a', url, headers: { Host: 'b' } }, /the gateway writes itself/],
  ['two places of the key', { name: 'a', url, key_env: 'A', key_file: 'b' }, /must set one of key_env and key_file/],
  ['itself as fallback', { name: 'a', url, fallback: 'a' }, /fallback must name another upstream/],
  ['an unknown field', { name: 'a', url, key: 'sk-1' }, /is not a field of an upstream; did you mean key_env\?/],
];

for (const [what, upstream, problem] of wrong) {
  test(`an upstream with ${what} is refused`, () => {
    assert.throws(() => checkPolicy({ upstreams: [upstream] }), { code: 'invalid_policy', message: problem });
  });
}

test('two upstreams have different names', () => {
  const upstreams = [
    { name: 'a', url },
    { name: 'a', url },
  ];
  assert.throws(() => checkPolicy({ upstreams }), { message: /upstreams\[1\] repeats the name "a"/ });
});

test('neither a problem nor an explanation quotes the header of an upstream', () => {
  const secret = 'sk-ant-Zq81';
  const upstream = { name: 'a', url, headers: { authorization: `Bearer ${secret}` } };
  assert.doesNotMatch(explainPolicy(checkPolicy({ upstreams: [upstream] })).join('\n'), /Zq81/);
  const bad = { ...upstream, headers: { authorization: `Bearer ${secret}\n` } };
  assert.throws(
    () => checkPolicy({ upstreams: [bad] }),
    (error: Error) => !error.message.includes('Zq81'),
  );
});
