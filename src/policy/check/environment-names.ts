/** The environment variables of settings, and how their values are parsed. */

import { sections } from '../../core/controls/sections.ts';
import { valueProblem } from '../../core/declare/check-value.ts';
import { topFields } from '../../core/declare/general-sections.ts';
import type { SectionFields, Setting } from '../../core/declare/setting.ts';
import { toCamelCase } from '../../core/names.ts';
import type { Settings } from '../../core/settings.ts';

/** Finds the setting with this name or alias. */
export function findField(fields: SectionFields, name: string): string | undefined {
  if (Object.hasOwn(fields, name)) return name;
  return Object.keys(fields).find((field) => fields[field]?.aliases?.includes(name));
}

/** A setting that the environment can override, with each of its variables; the later variable wins. */
export interface EnvironmentVariable {
  readonly path: string;
  readonly setting: Setting;
  readonly names: readonly string[];
}

/** Lists all variables in the order of the table. Lists and maps have none. */
export function listVariables(): readonly EnvironmentVariable[] {
  const listSection = (prefix: string, fields: SectionFields) =>
    Object.entries(fields).flatMap(([name, setting]) => {
      if (typeof setting.default === 'object') return [];
      const path = prefix + name;
      const plain = `SWITCHGEAR_${path.replace('.', '_').toUpperCase()}`;
      return [{ path, setting, names: setting.env ? [setting.env, plain] : [plain] }];
    });
  return [
    ...listSection('', topFields),
    ...Object.entries(sections).flatMap(([name, fields]) => listSection(`${name}.`, fields)),
  ];
}

/**
 * Parses the value of a variable, or returns why it is invalid. Numbers are decimal; `off` and `none` are not accepted.
 */
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

/** Returns settings with one value changed. */
export function withValue(settings: Settings, path: string, value: unknown): Settings {
  const [section, name] = path.split('.').map(toCamelCase) as [keyof Settings, string?];
  return { ...settings, [section]: name === undefined ? value : { ...(settings[section] as object), [name]: value } };
}
