/** The names under which the environment can say a setting, and how what it says is read. */

import { toCamelCase } from '../../core/names.ts';
import type { Settings } from '../../core/settings.ts';
import type { SectionFields, Setting } from '../table/setting.ts';
import { sections, topFields } from '../table/settings.ts';
import { valueProblem } from './value.ts';

/** The setting that a name means: its own, or one that has it as an alias. */
export function findField(fields: SectionFields, name: string): string | undefined {
  if (Object.hasOwn(fields, name)) return name;
  return Object.keys(fields).find((field) => fields[field]?.aliases?.includes(name));
}

/** A setting that the environment can say, under each of its names; of two names the later one wins. */
export interface EnvironmentVariable {
  readonly path: string;
  readonly setting: Setting;
  readonly names: readonly string[];
}

/** All of them, in the order of the table. Lists and maps are for files. */
export function listVariables(): readonly EnvironmentVariable[] {
  const listSection = (prefix: string, fields: SectionFields) =>
    Object.entries(fields).flatMap(([name, setting]) => {
      if (setting.kind === 'texts' || setting.kind === 'counts' || setting.kind === 'names') return [];
      const path = prefix + name;
      const plain = `SWITCHGEAR_${path.replace('.', '_').toUpperCase()}`;
      return [{ path, setting, names: setting.env ? [setting.env, plain] : [plain] }];
    });
  return [
    ...listSection('', topFields),
    ...Object.entries(sections).flatMap(([name, fields]) => listSection(`${name}.`, fields)),
  ];
}

/** A value of the environment, or why it is none. Decimal digits only; what is off is off in a policy alone. */
export function readVariable(
  { path, setting }: EnvironmentVariable,
  rawText: string,
): { readonly value: unknown; readonly problem: string | undefined } {
  const text = rawText.trim();
  const isNumber = setting.kind === 'whole' || setting.kind === 'number';
  const isFlag = setting.kind === 'flag' && (text === 'true' || text === 'false');
  const value = isNumber && /^-?\d{1,20}(\.\d{1,20})?$/.test(text) ? Number(text) : isFlag ? text === 'true' : text;
  const isOff = value === 'off' || value === 'none' || (path === 'loop.enabled' && value === false);
  return { value, problem: isOff ? 'can be switched off in a policy only' : valueProblem(setting, value) };
}

/** Settings with one value changed. */
export function withValue(settings: Settings, path: string, value: unknown): Settings {
  const [section, name] = path.split('.').map(toCamelCase) as [keyof Settings, string?];
  return { ...settings, [section]: name === undefined ? value : { ...(settings[section] as object), [name]: value } };
}
