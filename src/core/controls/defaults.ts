/** The default settings of a gear, read from the declarations. */

import { topFields } from '../declare/general-sections.ts';
import { readDefaults } from '../declare/read-defaults.ts';
import { toCamelCase } from '../names.ts';
import type { Settings } from '../settings.ts';
import { sections } from './sections.ts';

/** The default settings. */
export const defaultSettings = {
  ...readDefaults(topFields),
  tools: {},
  agents: {},
  budgets: [],
  rules: [],
  ...Object.fromEntries(Object.entries(sections).map(([name, fields]) => [toCamelCase(name), readDefaults(fields)])),
} as unknown as Settings;
