/** Builds the JSON Schema of a policy document from the table of settings, for editors. Names are in snake case. */

import { sectionDeclarations, sections, taskFields } from '../../core/controls/sections.ts';
import { budgetFields, topFields } from '../../core/declare/general-sections.ts';
import { toolGlobsMax } from '../../core/declare/mcp-settings.ts';
import type { SectionFields, Setting } from '../../core/declare/setting.ts';
import {
  upstreamApis,
  upstreamFields,
  upstreamHeadersMax,
  upstreamModelsMax,
  upstreamsMax,
} from '../../core/declare/upstream-settings.ts';
import { webhookEvents, webhookFields, webhookFormats, webhooksMax } from '../../core/declare/webhook-settings.ts';
import { mappedFields, mappedKinds } from '../../core/event-mapping.ts';
import { budgetsMax, nameLengthMax, ruleLengthMax, rulesMax } from '../../core/limits.ts';
import { presets } from '../table/presets.ts';

/** A JSON Schema as plain data. */
export type JsonSchema = Readonly<Record<string, unknown>>;

const name: JsonSchema = { type: 'string', minLength: 1, maxLength: nameLengthMax };

/** Returns the schema, draft 2020-12. */
export function policySchema(): JsonSchema {
  const breakerPreset = Object.keys(presets).filter((presetName) => presets[presetName]?.circuit_breaker);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Switchgear policy',
    ...objectSchema({
      $schema: { type: 'string' },
      preset: { description: 'A named set of settings to start from.', enum: Object.keys(presets) },
      ...fieldSchemas(topFields),
      ...Object.fromEntries(
        Object.values(sectionDeclarations).map(({ name: section, doc, fields }) => [
          section,
          { description: doc, ...objectSchema(fieldSchemas(fields)) },
        ]),
      ),
      tools: {
        description: 'Settings of single tools, by name; `*` stands for any characters.',
        ...mapSchema(objectSchema({ preset: { enum: breakerPreset }, ...fieldSchemas(sections.circuit_breaker!) })),
      },
      agents: {
        description: 'Settings of single agents, by name.',
        ...mapSchema(
          objectSchema({
            circuit_breaker: objectSchema(fieldSchemas(sections.circuit_breaker!)),
            task: objectSchema(fieldSchemas(taskFields)),
          }),
        ),
      },
      budgets: { description: 'Budgets beyond one task.', type: 'array', maxItems: budgetsMax, items: budget },
      rules: { description: 'Written rules.', type: 'array', maxItems: rulesMax, items: rule },
      mappings: {
        description: 'How `switchgear run` reads programs it does not know, by name.',
        ...mapSchema(mapping),
      },
      webhooks: {
        description: 'Where `switchgear serve` sends alerts, halts and questions.',
        type: 'array',
        maxItems: webhooksMax,
        items: webhook,
      },
      upstreams: {
        description: 'The hosts that `switchgear gateway` reaches.',
        type: 'array',
        maxItems: upstreamsMax,
        items: upstream,
      },
    }),
  };
}

const text: JsonSchema = { type: 'string', minLength: 1, maxLength: ruleLengthMax };

const rule: JsonSchema = {
  anyOf: [
    { description: 'condition|action|"reason"', ...text },
    {
      ...objectSchema({
        target: text,
        condition: text,
        action: { enum: ['abort', 'confirm', 'throttle'] },
        reason: text,
      }),
      required: ['condition', 'action'],
    },
  ],
};

const budget: JsonSchema = {
  ...objectSchema(
    Object.fromEntries(
      Object.entries(budgetFields).map(([field, setting]) => [
        field,
        { description: setting.doc, ...valueSchema(setting) },
      ]),
    ),
  ),
  required: ['scope', 'unit', 'limit'],
};

const event: JsonSchema = {
  ...objectSchema({ as: { enum: mappedKinds }, ...Object.fromEntries(mappedFields.map((field) => [field, name])) }),
  required: ['as'],
};

const mapping: JsonSchema = {
  ...objectSchema({ kind: name, events: { ...mapSchema(event), minProperties: 1 } }),
  required: ['events'],
};

const webhook: JsonSchema = {
  ...objectSchema(
    Object.fromEntries(
      Object.entries(webhookFields).map(([field, description]) => [field, { description, ...webhookValue(field) }]),
    ),
  ),
  required: ['name'],
  oneOf: ['url', 'url_env', 'url_file'].map((field) => ({ required: [field] })),
};

function webhookValue(field: string): JsonSchema {
  if (field === 'format') return { enum: webhookFormats, default: 'json' };
  if (field === 'events') return { type: 'array', items: { enum: webhookEvents }, minItems: 1, default: ['alerts'] };
  return name;
}

const upstream: JsonSchema = {
  ...objectSchema(
    Object.fromEntries(
      Object.entries(upstreamFields).map(([field, description]) => [field, { description, ...upstreamValue(field) }]),
    ),
  ),
  required: ['name', 'url'],
};

function upstreamValue(field: string): JsonSchema {
  if (field === 'apis') return { type: 'array', items: { enum: upstreamApis }, minItems: 1, default: upstreamApis };
  if (field === 'models')
    return { type: 'array', items: name, minItems: 1, maxItems: upstreamModelsMax, default: ['*'] };
  if (field === 'headers') return { ...mapSchema({ type: 'string' }), maxProperties: upstreamHeadersMax, default: {} };
  return name;
}

function objectSchema(properties: JsonSchema): JsonSchema {
  return { type: 'object', additionalProperties: false, properties };
}

function mapSchema(schema: JsonSchema): JsonSchema {
  return { type: 'object', propertyNames: name, additionalProperties: schema };
}

function fieldSchemas(fields: SectionFields): JsonSchema {
  const properties: Record<string, unknown> = {};
  for (const [field, setting] of Object.entries(fields)) {
    const { default: initial } = setting;
    const schema = valueSchema(setting);
    properties[field] = {
      description: setting.doc,
      ...schema,
      ...(initial !== undefined && { default: initial }),
    };
    for (const alias of setting.aliases ?? []) properties[alias] = { description: `Alias of ${field}.`, ...schema };
  }
  return properties;
}

/** A list of globs for every server, or a table of such lists by server. */
function toolGlobs(minItems: number): JsonSchema {
  const globs = { type: 'array', minItems, maxItems: toolGlobsMax, items: name };
  return { anyOf: [globs, mapSchema(globs)] };
}

function valueSchema(setting: Setting): JsonSchema {
  switch (setting.kind) {
    case 'whole':
    case 'number': {
      const { kind, min, above, max, optional } = setting;
      const low = min !== undefined ? { minimum: min } : { exclusiveMinimum: above };
      const number = { type: kind === 'whole' ? 'integer' : 'number', ...low, maximum: max };
      return optional ? { anyOf: [number, { const: 'none' }] } : number;
    }
    case 'flag':
      return { type: 'boolean' };
    case 'choice':
      return { enum: setting.of };
    case 'texts':
      return { type: 'array', items: setting.of ? { enum: setting.of } : name, ...(setting.of && { minItems: 1 }) };
    case 'counts':
      return mapSchema({ type: 'integer', minimum: 1 });
    case 'names':
      return mapSchema(setting.of ? { enum: setting.of } : name);
    case 'tools':
      return objectSchema({ allow: toolGlobs(1), deny: toolGlobs(0) });
  }
}
