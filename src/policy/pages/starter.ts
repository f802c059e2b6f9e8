/** Builds the commented policy that `switchgear policy init` writes, from the table of settings. */

import { sectionDeclarations } from '../../core/controls/sections.ts';
import { describeNumber } from '../../core/declare/check-value.ts';
import { topFields } from '../../core/declare/general-sections.ts';
import type { SectionFields, Setting } from '../../core/declare/setting.ts';
import type { Table } from '../../core/plain-copy.ts';
import { type PresetName, presets } from '../table/presets.ts';
import { overridesExample, unitOf } from './reference-page.ts';

const columns = 110;

/** Returns a policy in TOML with every setting at its default, or at that of the preset, as a comment. */
export function policyStarter(preset?: PresetName): string {
  const values = preset === undefined ? {} : presets[preset]!;
  const chosen = preset === undefined ? '# preset = "coding"' : `preset = "${preset}"`;
  const presetNames = Object.keys(presets).join(', ');
  const parts = [
    opening,
    `${comment(`A preset to start from; settings below override it: ${presetNames}.`)}\n${chosen}`,
    ...renderFields(topFields, values),
    ...orderedSections.map(({ name, doc, fields }) =>
      [`${comment(doc)}\n[${name}]`, ...renderFields(fields, (values[name] ?? {}) as Readonly<Table>)].join('\n\n'),
    ),
    `# Single tools and agents, budgets of several tasks, rules: examples.\n\n${overridesExample
      .split('\n')
      .map((line) => `#${line === '' ? '' : ` ${line}`}`)
      .join('\n')}`,
  ];
  return `${parts.join('\n\n')}\n`;
}

/** The limits of a task come first: most people change these. */
const orderedSections = Object.values(sectionDeclarations).toSorted(
  (one, other) => Number(other.name === 'task') - Number(one.name === 'task'),
);

const opening = `# The policy of Switchgear. Every setting stands here as a comment, with its default.
# Remove the "#" in front of a setting to change it; "switchgear policy check" checks the file, and
# "switchgear policy explain" prints what is in force. A value that protects less than the default
# holds after "switchgear policy trust".`;

function renderFields(fields: SectionFields, values: Readonly<Table>): readonly string[] {
  return Object.entries(fields).map(([name, setting]) => {
    const value = Object.hasOwn(values, name) ? values[name] : setting.default;
    return `${comment(`${setting.doc} ${describe(name, setting)}`.trim())}\n# ${name} = ${formatValue(value)}`;
  });
}

/** The allowed values, where the default does not show them. */
function describe(name: string, setting: Setting): string {
  switch (setting.kind) {
    case 'whole':
    case 'number': {
      const unit = unitOf(name).trim();
      const none = setting.optional ? ', or "none"' : '';
      const derived = setting.derived === undefined ? '' : `; default: ${setting.derived.replaceAll('`', '')}`;
      return `(${describeNumber(setting)}${unit === '' ? '' : `, in ${unit}`}${none}${derived})`;
    }
    case 'choice':
      return `(${setting.of.join(', ')})`;
    case 'flag':
    case 'texts':
    case 'counts':
    case 'names':
    case 'tools':
      return '';
  }
}

function formatValue(value: unknown): string {
  if (value === undefined) return '"none"';
  if (Array.isArray(value)) return `[${value.map(formatValue).join(', ')}]`;
  if (typeof value === 'object') return '{}';
  return JSON.stringify(value);
}

/** Wraps a text as comments of TOML. */
function comment(text: string): string {
  const lines = [''];
  for (const word of text.replaceAll('`', '').split(' ')) {
    const line = lines.at(-1)!;
    if (line.length + word.length > columns) lines.push(word);
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
  }
  return lines.map((line) => `# ${line}`).join('\n');
}
