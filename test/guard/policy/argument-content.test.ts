/** What a journal holds of arguments: nothing, a few words without secrets, or all of them within bounds. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fullContentMax, redactedContentMax } from '../../../src/core/limits.ts';
import { createSwitchgear } from '../../../src/guard/create-switchgear.ts';
import { formatArguments } from '../../../src/guard/policy/argument-content.ts';
import { simulatedClock } from '../../../src/testing/simulated-clock.ts';

const key = 'sk-proj-4fGh82hdJx0aPq77';

test('arguments are formatted as one line, and bytes and functions by their kind', () => {
  const args = [
    { path: 'a.txt', lines: [1, null], deep: { ok: true } },
    'two',
    undefined,
    new Uint8Array(9),
    () => key,
  ];
  const line = '{"path":"a.txt","lines":[1,null],"deep":{"ok":true}}, "two", undefined, [9 bytes], [function]';
  assert.equal(formatArguments(args, false), line);
  assert.equal(formatArguments(args, true), line);
});

const telling: readonly (readonly [given: unknown, kept: string])[] = [
  [{ password: 'hunter2', user: 'ann' }, '{"password":[redacted],"user":"ann"}'],
  [
    { headers: { Authorization: 'x', Cookie: { a: 'b' } } },
    '{"headers":{"Authorization":[redacted],"Cookie":[redacted]}}',
  ],
  [
    { api_key: 1, apiKey: 2, access_token: 3, max_tokens: 4 },
    '{"api_key":[redacted],"apiKey":[redacted],"access_token":[redacted],"max_tokens":4}',
  ],
  [`curl -H 'X: ${key}' host`, `"curl -H 'X: [redacted]' host"`],
  ['curl -H "Authorization: Bearer abc.def-123"', '"curl -H \\"Authorization: [redacted]\\""'],
  ["curl -H 'Authorization: Token abc' -v", `"curl -H 'Authorization: [redacted]' -v"`],
  ["curl -H 'Cookie: sid=abc; theme=dark' -v", `"curl -H 'Cookie: [redacted]' -v"`],
  [{ [key]: 1, 'a=1&token=abc': 2 }, '{"[redacted]":1,"a=1&token=[redacted]":2}'],
  ['curl -d "{\\"password\\": \\"hunter2\\"}" host', String.raw`"curl -d \"{\\\"password\\\": [redacted]}\" host"`],
  ['{"token":"abc def', '"{\\"token\\":[redacted]"'],
  ['psql postgres://ann:pw@db/main', '"psql postgres://[redacted]@db/main"'],
  ['curl -u ann:pw host', '"curl -u ann:[redacted] host"'],
  ['curl --user ann:pw host', '"curl --user ann:[redacted] host"'],
  ['DB_PASS=pw MYSQL_PWD=pw make', '"DB_PASS=[redacted] MYSQL_PWD=[redacted] make"'],
  [{ db_pass: 'pw', bypass: 1 }, '{"db_pass":[redacted],"bypass":1}'],
  [[{ name: 'API_KEY', value: 'pw' }, { value: 1 }], '[{"name":"API_KEY","value":[redacted]},{"value":1}]'],
  ['{"Cookie": "sid=abc"}', '"{\\"Cookie\\": [redacted]}"'],
  [['login', '--password', 'hunter2', '-v'], '["login","--password",[redacted],"-v"]'],
  ['login --password hunter2 --user ann', '"login --password [redacted] --user ann"'],
  ['GITHUB_TOKEN=abc123 make; echo done', '"GITHUB_TOKEN=[redacted] make; echo done"'],
  ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln', '"[redacted]"'],
  ['deadbeef0123456789deadbeef0123456789 is it', '"[redacted] is it"'],
  ['-----BEGIN RSA PRIVATE KEY-----\nMIIEow', '"-----BEGIN RSA PRIVATE KEY-----[redacted]"'],
  ['a plain sentence about the secret of a token', '"a plain sentence about the secret of a token"'],
];

for (const [given, kept] of telling) {
  test(`${JSON.stringify(given).slice(0, 60)} is stored without secrets as ${kept.slice(0, 60)}`, () => {
    assert.equal(formatArguments([given], true), kept);
  });
}

test('a secret that crosses the truncation point does not show its first characters', () => {
  for (let at = redactedContentMax - 40; at < redactedContentMax + 10; at++) {
    const text = formatArguments([`${'x '.repeat(at / 2)}${key}`], true);
    assert.doesNotMatch(text, /sk-proj/, `at ${at}`);
  }
});

test('a quoted secret that is longer than the scanned part is redacted', () => {
  assert.doesNotMatch(formatArguments([`{"password":"${'correct horse '.repeat(100)}"}`], true), /horse/);
});

test('the formatted text is bounded and formatting never throws, for any arguments', () => {
  const round: { self?: object } = {};
  round.self = round;
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  const hostile = {
    get a(): never {
      throw new Error('no');
    },
  };
  const given = [
    round,
    proxy,
    hostile,
    'x'.repeat(1e6),
    Array(1e6).fill('y'),
    Symbol('s'),
    1n,
    { ['k'.repeat(1e5)]: 1 },
  ];
  for (const value of given) {
    assert.ok(formatArguments([value, value], true).length <= redactedContentMax);
    assert.ok(formatArguments([value, value], false).length <= fullContentMax);
  }
});

function journalOf(journal: object | undefined) {
  const rules = [{ target: 'tool:rm', condition: 'ability:rm', action: 'abort' }] as const;
  const policy = { rules, ...(journal && { journal }) };
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {}, policy });
  const read = gear.guard('read', (_path: string) => 1);
  const rm = gear.guard('rm', (_path: string, _options?: object) => 1);
  const kept = () => gear.journal().flatMap((entry) => ('args' in entry ? [[entry.type, entry.args]] : []));
  return { gear, read, rm, kept };
}

test('with journal.content a refusal is stored with its arguments, and an allow at level all', () => {
  const { read, rm, kept } = journalOf({ content: 'redacted' });
  read('a');
  rm('b', { token: 't' });
  assert.deepEqual(kept(), [['action-refused', '"b", {"token":[redacted]}']]);
  const all = journalOf({ content: 'full', level: 'all' });
  all.read('a');
  all.rm('b', { token: 't' });
  assert.deepEqual(all.kept(), [
    ['action-allowed', '"a"'],
    ['action-refused', '"b", {"token":"t"}'],
  ]);
});

test('no argument is stored by default, nor after a reload switched journal.content off', () => {
  const { rm, kept } = journalOf(undefined);
  rm('b');
  assert.deepEqual(kept(), []);
  const held = journalOf({ content: 'full' });
  held.gear.reload({ rules: [{ target: 'tool:rm', condition: 'ability:rm', action: 'abort' }] });
  held.rm('b');
  assert.deepEqual(held.kept(), []);
});

test('a question and the refusal after it are stored with the arguments asked about', async () => {
  const rules = [{ target: 'tool:send', condition: 'ability:send', action: 'confirm' }] as const;
  const policy = { rules, journal: { content: 'redacted' } } as const;
  const gear = createSwitchgear({ clock: simulatedClock(), log: 'silent', env: {}, policy });
  await gear.guard('send', async (_to: string) => 1)('bob');
  const kept = gear.journal().flatMap((entry) => ('args' in entry ? [[entry.type, entry.args]] : []));
  assert.deepEqual(kept, [
    ['action-asked', '"bob"'],
    ['action-refused', '"bob"'],
  ]);
});
