/** Reads the defaults of a table of fields. */

import { toCamelCase } from '../names.ts';
import type { SectionFields } from './setting.ts';

/** The defaults of a section under their TypeScript names; a setting without a default is absent. */
export function readDefaults(fields: SectionFields): object {
  const entries = Object.entries(fields).flatMap(([name, { default: value }]) =>
    value === undefined ? [] : [[toCamelCase(name), value]],
  );
  // A parsed object has fast properties; one that was filled name by name has not.
  return JSON.parse(JSON.stringify(Object.fromEntries(entries)));
}
