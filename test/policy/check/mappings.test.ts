/** Mappings in a policy: read as they are written, and wrong ones told with their places. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkPolicy } from '../../../src/policy/check/check-policy.ts';

test('mappings are stored by program name, and the default is no mapping', () => {
  const mapping = { kind: 'event', events: { call: { as: 'tool_use', id: 'call.id', name: 'call.tool' } } };
  const { settings, provenance } = checkPolicy({ mappings: { 'my-agent': mapping } });
  assert.deepEqual(JSON.parse(JSON.stringify(settings.mappings)), { 'my-agent': mapping });
  assert.equal(provenance.get('mappings')?.value, 1);
  assert.equal(checkPolicy({}).settings.mappings, undefined);
});

for (const [title, mapping, problem] of [
  ['no events', { kind: 'event' }, /mappings\.a must map at least one kind of event/],
  ['another kind of event', { events: { x: { as: 'call' } } }, /events\.x\.as must be one of assistant.*got "call"/],
  ['an event that is nothing', { events: { x: {} } }, /mappings\.a\.events\.x\.as must be one of/],
  [
    'a misspelt field',
    { events: { x: { as: 'user', txt: 'a' } } },
    /txt is not a field of an event; did you mean text\?/,
  ],
  ['a path that is none', { events: { x: { as: 'user', text: 5 } } }, /x\.text must be a path, as in call\.id, got 5/],
  ['a kind that is no path', { kind: 7, events: { x: { as: 'user' } } }, /mappings\.a\.kind must be a path/],
  ['a setting that is none', { kinds: 'x', events: { x: { as: 'user' } } }, /mappings\.a\.kinds is not a setting/],
  ['a list', [1], /mappings\.a must be a table, got a list of 1/],
] as const) {
  test(`a mapping with ${title} is an error with its location`, () => {
    assert.throws(() => checkPolicy({ mappings: { a: mapping } }), { code: 'invalid_policy', message: problem });
  });
}
