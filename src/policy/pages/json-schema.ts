/** The JSON Schema of a policy document, made from the table, for editors. Names are those of files. */

import { mappedFields, mappedKinds } from '../../core/event-mapping.ts';
import { budgetsMax, nameLengthMax, ruleLengthMax, rulesMax } from '../../core/limits.ts';
import { presets } from '../table/presets.ts';
import type { Fields, Setting } from '../table/setting.ts';
import { breakerFields, budgetFields, sections, taskFields, topFields } from '../table/settings.ts';
import { budgetDocs, sectionDocs, settingDocs } from './setting-docs.ts';

export type JsonSchema = Readonly<Record<string, unknown>>;

const name: JsonSchema = { type: 'string', minLength: 1, maxLength: nameLengthMax };

/** Draft 2020-12. */
export function policySchema(): JsonSchema {
  const breakerPreset = Object.keys(presets).filter((one) => presets[one]?.circuit_breaker);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Switchgear policy',
    ...table({
      $schema: { type: 'string' },
      preset: { description: 'A named set of settings to start from.', enum: Object.keys(presets) },
      ...fieldSchemas(topFields, ''),
      ...Object.fromEntries(
        Object.entries(sections).map(([section, fields]) => [
          section,
          { description: sectionDocs[section], ...table(fieldSchemas(fields, `${section}.`)) },
        ]),
      ),
      tools: {
        description: 'Settings of single tools, by name; `*` stands for any characters.',
        ...mapOf(table({ preset: { enum: breakerPreset }, ...fieldSchemas(breakerFields, 'circuit_breaker.') })),
      },
      agents: {
        description: 'Settings of single agents, by name.',
        ...mapOf(
          table({
            circuit_breaker: table(fieldSchemas(breakerFields, 'circuit_breaker.')),
            task: table(fieldSchemas(taskFields, 'task.')),
          }),
        ),
      },
      budgets: { description: 'Budgets beyond one task.', type: 'array', maxItems: budgetsMax, items: budget },
      rules: { description: 'Written rules.', type: 'array', maxItems: rulesMax, items: rule },
      mappings: { description: 'How `switchgear run` reads programs it does not know, by name.', ...mapOf(mapping) },
    }),
  };
}

const text: JsonSchema = { type: 'string', minLength: 1, maxLength: ruleLengthMax };

const rule: JsonSchema = {
  anyOf: [
    { description: 'condition|action|"reason"', ...text },
    {
      ...table({ target: text, condition: text, action: { enum: ['abort', 'confirm', 'throttle'] }, reason: text }),
      required: ['condition', 'action'],
    },
  ],
};

const budget: JsonSchema = {
  ...table(
    Object.fromEntries(
      Object.entries(budgetFields).map(([field, setting]) => [
        field,
        { description: budgetDocs[field], ...valueSchema(setting) },
      ]),
    ),
  ),
  required: ['scope', 'unit', 'limit'],
};

const event: JsonSchema = {
  ...table({ as: { enum: mappedKinds }, ...Object.fromEntries(mappedFields.map((field) => [field, name])) }),
  required: ['as'],
};

const mapping: JsonSchema = {
  ...table({ kind: name, events: { ...mapOf(event), minProperties: 1 } }),
  required: ['events'],
};

function table(properties: JsonSchema): JsonSchema {
  return { type: 'object', additionalProperties: false, properties };
}

function mapOf(schema: JsonSchema): JsonSchema {
  return { type: 'object', propertyNames: name, additionalProperties: schema };
}

function fieldSchemas(fields: Fields, home: string): JsonSchema {
  const properties: Record<string, unknown> = {};
  for (const [field, setting] of Object.entries(fields)) {
    const { default: initial } = setting;
    const schema = valueSchema(setting);
    properties[field] = {
      description: settingDocs[home + field],
      ...schema,
      ...(initial !== undefined && { default: initial }),
    };
    for (const alias of setting.aliases ?? []) properties[alias] = { description: `Alias of ${field}.`, ...schema };
  }
  return properties;
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
      return mapOf({ type: 'integer', minimum: 1 });
    case 'names':
      return mapOf(setting.of ? { enum: setting.of } : name);
  }
}
