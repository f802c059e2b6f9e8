/** The JSON Schema of a chain file, for editors. What spans several places only the reader checks. */

import {
  chainNameMax,
  chainParamsMax,
  chainRulesMax,
  chainStepsMax,
  chainTextMax,
  ruleLengthMax,
  secsMax,
} from '../../core/limits.ts';
import { type JsonSchema, policySchema } from '../../policy/pages/json-schema.ts';
import type { StepOp } from './chain.ts';
import { isAlone, ops } from './condition.ts';
import { paramTypes } from './read-params.ts';
import { abilityPattern } from './read-step.ts';
import { keyPattern, namePattern } from './table-reader.ts';

const notBlank = '\\S';
const name: JsonSchema = { type: 'string', maxLength: chainNameMax, pattern: namePattern };
const key: JsonSchema = { type: 'string', maxLength: chainNameMax, pattern: keyPattern };
const text: JsonSchema = { type: 'string', maxLength: chainTextMax, pattern: notBlank };
const ruleText: JsonSchema = { type: 'string', maxLength: ruleLengthMax, pattern: notBlank };

/** Draft 2020-12. */
export function chainSchema(): JsonSchema {
  const { circuit_breaker, rule_settings } = policySchema().properties as Record<string, JsonSchema>;
  const { on_missing, lookup } = rule_settings!.properties as Record<string, JsonSchema>;
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Switchgear chain',
    ...table(
      {
        $schema: { type: 'string' },
        id: { description: 'What runs, rules and the journal call the chain.', ...name },
        name: { description: 'A title for people.', ...text },
        description: text,
        params: { description: 'What a run is given.', type: 'array', maxItems: chainParamsMax, items: param },
        circuit_breakers: {
          description: 'Rules, looked at before each step and after the last.',
          type: 'array',
          maxItems: chainRulesMax,
          items: { anyOf: [{ description: 'condition|action|"reason"', ...ruleText }, rule] },
        },
        on_missing,
        lookup,
        steps: { type: 'array', minItems: 1, maxItems: chainStepsMax, items: step(circuit_breaker) },
      },
      'id',
      'steps',
    ),
  };
}

function table(properties: Readonly<Record<string, unknown>>, ...required: readonly string[]): JsonSchema {
  return { type: 'object', additionalProperties: false, properties, required };
}

const param = table(
  {
    name: key,
    param_type: { enum: Object.keys(paramTypes), default: 'text' },
    description: text,
    required: { description: 'True unless there is a default.', type: 'boolean' },
    default: { type: ['string', 'number', 'boolean'] },
  },
  'name',
);

const rule = table(
  {
    condition: {
      description: 'key>value, frequency>count/window, ability:name or output:key|contains:text.',
      ...ruleText,
    },
    action: { enum: ['abort', 'confirm', 'throttle'] },
    reason: ruleText,
  },
  'condition',
  'action',
);

function step(circuitBreaker: JsonSchema | undefined): JsonSchema {
  const properties = {
    id: name,
    ability: {
      description: 'server.tool of an MCP server, a function, http.get, http.post or shell.execute.',
      type: 'string',
      maxLength: chainNameMax,
      pattern: abilityPattern,
    },
    args: { description: 'Values may hold {{…}}.', type: 'object' },
    output_key: { description: 'What later steps and rules call its result.', ...key },
    condition: { description: 'When the step runs; else it is skipped.', anyOf: [comparison(false), comparison(true)] },
    timeout_secs: { type: 'number', exclusiveMinimum: 0, maximum: secsMax },
    idempotent: { description: 'May run again when nobody knows whether it ran.', type: 'boolean', default: false },
    circuit_breaker: circuitBreaker,
  };
  return table(properties, 'id', 'ability');
}

function comparison(hasNoValue: boolean): JsonSchema {
  const words = Object.entries(ops).flatMap(([word, op]: [string, StepOp]) => (isAlone(op) === hasNoValue ? word : []));
  const refKey = { type: 'string', maxLength: chainNameMax, pattern: '^[^{}\\s]+$' };
  const properties = { ref_key: refKey, op: { enum: words } };
  if (hasNoValue) return table(properties, 'ref_key', 'op');
  return table({ ...properties, value: { description: 'May hold {{…}}.' } }, 'ref_key', 'op', 'value');
}
