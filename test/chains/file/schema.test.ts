/** The JSON Schema says of a chain file what the reader says, as far as a schema can. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv';
import { chainSchema, readChain } from '../../../src/chains/index.ts';
import { readPackage, readText } from '../../harness/source.ts';

const validate = new AjvJsonSchemaValidator().getValidator(chainSchema());
const isValid = (value: unknown) => validate(value).valid;
const isRead = (value: unknown) => readChain(JSON.stringify(value), 'c.json').chain !== undefined;

const step = { id: 's', ability: 'a.b' };
const full = {
  $schema: './chain.schema.json',
  id: 'c',
  name: 'C',
  description: 'all of it',
  on_missing: 'pending',
  lookup: ['outputs', 'args'],
  params: [
    { name: 'p', param_type: 'number', description: 'd', required: true },
    { name: 'q', default: 'x' },
  ],
  circuit_breakers: ['B:a>1|abort|"r"', { condition: 'a>{{p}}', action: 'confirm', reason: 'r' }],
  steps: [
    {
      ...step,
      args: { x: [1, { y: '{{p}}' }] },
      output_key: 'k',
      timeout_secs: 5,
      idempotent: true,
      circuit_breaker: { failure_threshold: 3 },
    },
    { id: 't', ability: 'b', condition: { ref_key: 'k.v', op: '<=', value: 5 } },
    { id: 'u', ability: 'b', condition: { ref_key: 'k', op: 'is_empty' } },
  ],
};

test('chain.schema.json is current: node test/chains/file/write-schema.ts, then npm run format', () => {
  assert.deepEqual(JSON.parse(readText('chain.schema.json')), JSON.parse(JSON.stringify(chainSchema())));
  assert.equal(
    (readPackage() as unknown as { exports: Record<string, unknown> }).exports['./chain.schema.json'],
    './chain.schema.json',
  );
});

test('schema and reader accept a chain with every field, and the smallest chain', () => {
  for (const good of [full, { id: 'c', steps: [step] }]) assert.deepEqual([isValid(good), isRead(good)], [true, true]);
});

test('schema and reader know every operator and every breaker setting', () => {
  const { properties } = chainSchema() as {
    properties: Record<string, { items: { properties: Record<string, { properties: object }> } }>;
  };
  const settings = Object.keys(properties.steps?.items.properties.circuit_breaker?.properties ?? {});
  assert.ok(settings.length > 15);
  for (const name of settings) {
    const wrong = { id: 'c', steps: [{ ...step, circuit_breaker: { [name]: { no: 'value' } } }] };
    assert.deepEqual([isValid(wrong), isRead(wrong)], [false, false], name);
  }
});

/** One change to the full chain that neither takes. */
const changes: readonly (readonly [what: string, change: (chain: typeof full) => unknown])[] = [
  ['no id', ({ id, ...rest }) => rest],
  ['no steps', ({ steps, ...rest }) => rest],
  ['empty steps', (chain) => ({ ...chain, steps: [] })],
  ['a step without ability', (chain) => ({ ...chain, steps: [{ id: 's' }] })],
  ['a step without id', (chain) => ({ ...chain, steps: [{ ability: 'a' }] })],
  ['an unknown key', (chain) => ({ ...chain, stepz: [] })],
  ['an unknown key of a step', (chain) => ({ ...chain, steps: [{ ...step, retry: 1 }] })],
  [
    'an unknown key of a rule',
    (chain) => ({ ...chain, circuit_breakers: [{ condition: 'a>1', action: 'abort', target: '*' }] }),
  ],
  ['an unknown key of a parameter', (chain) => ({ ...chain, params: [{ name: 'p', type: 'text' }] })],
  ['an unknown type', (chain) => ({ ...chain, params: [{ name: 'p', param_type: 'date' }] })],
  ['a parameter with a dot', (chain) => ({ ...chain, params: [{ name: 'p.q' }] })],
  ['an unknown action', (chain) => ({ ...chain, circuit_breakers: [{ condition: 'a>1', action: 'stop' }] })],
  ['a rule without action', (chain) => ({ ...chain, circuit_breakers: [{ condition: 'a>1' }] })],
  ['a rule that is a number', (chain) => ({ ...chain, circuit_breakers: [5] })],
  ['an unknown op', (chain) => ({ ...chain, steps: [{ ...step, condition: { ref_key: 'p', op: 'like', value: 1 } }] })],
  ['a comparison without value', (chain) => ({ ...chain, steps: [{ ...step, condition: { ref_key: 'p', op: '<' } }] })],
  [
    'a value for exists',
    (chain) => ({ ...chain, steps: [{ ...step, condition: { ref_key: 'p', op: 'exists', value: 1 } }] }),
  ],
  [
    'a reference in braces',
    (chain) => ({ ...chain, steps: [{ ...step, condition: { ref_key: '{{p}}', op: 'exists' } }] }),
  ],
  ['an id with a space', (chain) => ({ ...chain, id: 'a b' })],
  ['an id that is a number', (chain) => ({ ...chain, id: 5 })],
  ['a blank name', (chain) => ({ ...chain, name: ' ' })],
  ['an ability with a star', (chain) => ({ ...chain, steps: [{ id: 's', ability: 'a.*' }] })],
  ['args that are a list', (chain) => ({ ...chain, steps: [{ ...step, args: [] }] })],
  ['an output key with a dot', (chain) => ({ ...chain, steps: [{ ...step, output_key: 'a.b' }] })],
  ['a timeout of nothing', (chain) => ({ ...chain, steps: [{ ...step, timeout_secs: 0 }] })],
  ['a timeout in words', (chain) => ({ ...chain, steps: [{ ...step, timeout_secs: '5' }] })],
  ['a flag in words', (chain) => ({ ...chain, steps: [{ ...step, idempotent: 'yes' }] })],
  ['a wrong breaker', (chain) => ({ ...chain, steps: [{ ...step, circuit_breaker: { failure_threshold: 0 } }] })],
  ['an unknown place', (chain) => ({ ...chain, lookup: ['here'] })],
  ['no place at all', (chain) => ({ ...chain, lookup: [] })],
  ['an unknown on_missing', (chain) => ({ ...chain, on_missing: 'maybe' })],
  [
    'too many steps',
    (chain) => ({ ...chain, steps: Array.from({ length: 201 }, (_, at) => ({ id: `s${at}`, ability: 'a' })) }),
  ],
  ['a default that is a list', (chain) => ({ ...chain, params: [{ name: 'p', default: [] }] })],
  ['a list', (chain) => [chain]],
];

for (const [what, change] of changes) {
  test(`schema and reader refuse ${what}`, () => {
    const changed = change(structuredClone(full));
    assert.deepEqual([isValid(changed), isRead(changed)], [false, false]);
  });
}
