/** Reads the defaults of a table of fields. */

import { toCamelCase } from '../names.ts';
import type { SectionFields } from './setting.ts';

/** The defaults of a section under their TypeScript names; a setting without a default is absent. */
export function readDefaults(fields: SectionFields): object {
  const defaults: Record<string, unknown> = {};
  for (const [name, { default: value }] of Object.entries(fields)) {
    if (value !== undefined) defaults[toCamelCase(name)] = value;
  }
  return { ...defaults }; // A copy has fast properties; an object that was filled name by name may not.
}
