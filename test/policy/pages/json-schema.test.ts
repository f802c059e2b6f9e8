import assert from 'node:assert/strict';
import test from 'node:test';
import { checkPolicy } from '../../../src/policy/check/check-policy.ts';
import { parsePolicy } from '../../../src/policy/file/files.ts';
import { type JsonSchema, policySchema } from '../../../src/policy/pages/json-schema.ts';
import { settingsReference } from '../../../src/policy/pages/reference-page.ts';
import { presets } from '../../../src/policy/table/presets.ts';

test('the example on the reference page is a valid policy', () => {
  const [, toml = ''] = /```toml\n(.*?)```/s.exec(settingsReference()) ?? [];
  const { settings } = parsePolicy(toml, 'example.toml');
  assert.equal(settings.tools.external_api?.failureThreshold, 2);
  assert.equal(settings.rules.length, 1);
});

/** As much of JSON Schema as ours uses. */
function accepts(schema: JsonSchema, value: unknown): boolean {
  const { type, properties, additionalProperties, items, propertyNames } = schema as Record<
    string,
    JsonSchema | undefined
  >;
  const { anyOf, required, minItems = 0 } = schema as { anyOf?: JsonSchema[]; required?: string[]; minItems?: number };
  if (anyOf && !anyOf.some((one) => accepts(one, value))) return false;
  if ('enum' in schema && !(schema.enum as unknown[]).includes(value)) return false;
  if ('const' in schema && schema.const !== value) return false;
  const { minimum = -Infinity, exclusiveMinimum = -Infinity, maximum = Infinity } = schema as Record<string, number>;
  const { minLength = 0, maxLength = Infinity } = schema as Record<string, number>;
  const kind: unknown = type;
  switch (kind) {
    case undefined:
      return true;
    case 'integer':
    case 'number': {
      const fits = typeof value === 'number' && (Number.isInteger(value) || kind === 'number');
      return fits && value >= minimum && value > exclusiveMinimum && value <= maximum;
    }
    case 'string':
      return typeof value === 'string' && value.length >= minLength && value.length <= maxLength;
    case 'array':
      return Array.isArray(value) && value.length >= minItems && value.every((item) => accepts(items ?? {}, item));
    case 'object':
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
      if (required?.some((name) => !Object.hasOwn(value, name))) return false;
      return Object.entries(value).every(([name, item]) => {
        if (propertyNames && !accepts(propertyNames, name)) return false;
        const known =
          properties && Object.hasOwn(properties, name) ? (properties[name] as JsonSchema) : additionalProperties;
        return typeof known === 'object' && accepts(known, item);
      });
    default:
      return typeof value === kind;
  }
}

const documents: readonly (readonly [boolean, object])[] = [
  [true, {}],
  [true, { $schema: 'x', preset: 'mcp', mode: 'observe' }],
  [true, { circuit_breaker: { recovery_timeout: 5, timeout: 'none', count_errors: [], max_concurrent: 3 } }],
  [true, { circuit_breaker: { reset_timeout_seconds: 30 }, rule_settings: { lookup: ['args', 'params'] } }],
  [true, { tools: { 'mail.*': { preset: 'llm', failure_threshold: 1 } }, agents: { R: { task: { max_tokens: 5 } } } }],
  [true, { rules: ['a>1|abort', { condition: 'a>1', action: 'confirm', reason: 'x', target: 'tool:y' }] }],
  [true, { delegation: { worker_limits: { a: 1 }, alternatives: { a: 'b' } } }],
  [false, { circuit_breaker: { failure_threshold: 0 } }],
  [false, { circuit_breaker: { failure_threshold: '5' } }],
  [false, { circuit_breaker: { failure_treshold: 5 } }],
  [false, { circuit_breaker: { timeout_secs: null } }],
  [false, { loop: { similarity_jaccard_threshold: 0 } }],
  [false, { loop: { similarity_jaccard_threshold: 1.1 } }],
  [false, { task: { max_tool_calls: 1.5 } }],
  [true, { task: { max_tool_calls: 'none' } }],
  [false, { task: { max_spend_cents: 'none' } }],
  [false, { tools: { x: { preset: 'nabaos' } } }],
  [false, { rules: [{ condition: 'a>1' }] }],
  [false, { rule_settings: { lookup: [] } }],
  [false, { delegation: { worker_limits: { a: 0 } } }],
  [false, { server: {} }],
];

test('the JSON schema and checkPolicy accept the same policies', () => {
  const schema = policySchema();
  for (const [expected, document] of documents) {
    const name = JSON.stringify(document);
    assert.equal(accepts(schema, document), expected, `schema: ${name}`);
    if (expected) checkPolicy(document);
    else assert.throws(() => checkPolicy(document), { code: 'invalid_policy' }, name);
  }
});

test('the JSON schema accepts the settings of every preset', () => {
  for (const [name, document] of Object.entries(presets)) assert.ok(accepts(policySchema(), document), name);
});
