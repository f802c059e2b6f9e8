/** The JSON Schema of a chain file, for editors. Only the reader checks relations between several places. */

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
import { isUnary, operators } from './condition.ts';
import { paramTypes } from './read-params.ts';
import { abilityPattern } from './read-step.ts';
import { keyPattern, namePattern } from './table-reader.ts';

const notBlank = '\\S';
const nameSchema: JsonSchema = { type: 'string', maxLength: chainNameMax, pattern: namePattern };
const keySchema: JsonSchema = { type: 'string', maxLength: chainNameMax, pattern: keyPattern };
const textSchema: JsonSchema = { type: 'string', maxLength: chainTextMax, pattern: notBlank };
const ruleTextSchema: JsonSchema = { type: 'string', maxLength: ruleLengthMax, pattern: notBlank };

/** The schema, in JSON Schema draft 2020-12. */
export function chainSchema(): JsonSchema {
  const { circuit_breaker, rule_settings } = policySchema().properties as Record<string, JsonSchema>;
  const { on_missing, lookup } = rule_settings!.properties as Record<string, JsonSchema>;
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Switchgear chain',
    ...objectSchema(
      {
        $schema: { type: 'string' },
        id: { description: 'What runs, rules and the journal call the chain.', ...nameSchema },
        name: { description: 'A title for people.', ...textSchema },
        description: textSchema,
        params: { description: 'What a run is given.', type: 'array', maxItems: chainParamsMax, items: paramSchema },
        circuit_breakers: {
          description: 'Rules, looked at before each step and after the last.',
          type: 'array',
          maxItems: chainRulesMax,
          items: { anyOf: [{ description: 'condition|action|"reason"', ...ruleTextSchema }, ruleSchema] },
        },
        on_missing,
        lookup,
        steps: { type: 'array', minItems: 1, maxItems: chainStepsMax, items: stepSchema(circuit_breaker) },
      },
      'id',
      'steps',
    ),
  };
}

function objectSchema(properties: Readonly<Record<string, unknown>>, ...required: readonly string[]): JsonSchema {
  return { type: 'object', additionalProperties: false, properties, required };
}

const paramSchema = objectSchema(
  {
    name: keySchema,
    param_type: { enum: Object.keys(paramTypes), default: 'text' },
    description: textSchema,
    required: { description: 'True unless there is a default.', type: 'boolean' },
    default: { type: ['string', 'number', 'boolean'] },
  },
  'name',
);

const ruleSchema = objectSchema(
  {
    condition: {
      description: 'key>value, frequency>count/window, ability:name or output:key|contains:text.',
      ...ruleTextSchema,
    },
    action: { enum: ['abort', 'confirm', 'throttle'] },
    reason: ruleTextSchema,
  },
  'condition',
  'action',
);

function stepSchema(circuitBreaker: JsonSchema | undefined): JsonSchema {
  const properties = {
    id: nameSchema,
    ability: {
      description: 'server.tool of an MCP server, a function, http.get, http.post or shell.execute.',
      type: 'string',
      maxLength: chainNameMax,
      pattern: abilityPattern,
    },
    args: { description: 'Values may hold {{…}}.', type: 'object' },
    output_key: { description: 'What later steps and rules call its result.', ...keySchema },
    condition: {
      description: 'When the step runs; else it is skipped.',
      anyOf: [conditionSchema(false), conditionSchema(true)],
    },
    timeout_secs: { type: 'number', exclusiveMinimum: 0, maximum: secsMax },
    idempotent: {
      description: 'Whether the step may run again if it is unknown whether it ran.',
      type: 'boolean',
      default: false,
    },
    circuit_breaker: circuitBreaker,
  };
  return objectSchema(properties, 'id', 'ability');
}

function conditionSchema(hasNoValue: boolean): JsonSchema {
  const words = Object.entries(operators).flatMap(([word, op]: [string, StepOp]) =>
    isUnary(op) === hasNoValue ? word : [],
  );
  const refKey = { type: 'string', maxLength: chainNameMax, pattern: '^[^{}\\s]+$' };
  const properties = { ref_key: refKey, op: { enum: words } };
  if (hasNoValue) return objectSchema(properties, 'ref_key', 'op');
  return objectSchema({ ...properties, value: { description: 'May hold {{…}}.' } }, 'ref_key', 'op', 'value');
}
