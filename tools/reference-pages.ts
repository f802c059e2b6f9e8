/** The pages and tables that are made from the declarations of controls. `npm run reference` writes them. */

import { readFileSync, writeFileSync } from 'node:fs';
import { codes, controlDeclarations, findCode, listSettingsOf } from '../src/core/controls/registry.ts';
import { policySchema, settingsReference } from '../src/policy/index.ts';
import { serverMetrics } from '../src/server/metrics/metric-table.ts';
import { renderDashboard } from './grafana-dashboard.ts';

const root = new URL('../', import.meta.url);

/** Every generated file with its text, by its path from the root. */
export function renderReference(): ReadonlyMap<string, string> {
  return new Map([
    ['docs/reference/codes.md', renderCodes()],
    ['docs/reference/settings.md', settingsReference()],
    ['policy.schema.json', `${JSON.stringify(policySchema(), null, 2)}\n`],
    ['monitoring/grafana-dashboard.json', renderDashboard()],
    [
      'docs/guides/metrics.md',
      replaceTable('docs/guides/metrics.md', ['metric', 'type', 'labels', 'meaning'], metrics),
    ],
    ['README.md', replaceTable('README.md', ['protection', 'stops, by default'], protections)],
    ['ARCHITECTURE.md', replaceTable('ARCHITECTURE.md', ['control', 'stops', 'state lives per'], controls)],
  ]);
}

const metrics = Object.entries(serverMetrics).map(([name, { type, labels, help }]) => [
  `\`switchgear_${name}\``,
  type,
  labels.map((label) => `\`${label}\``).join(', '),
  help,
]);
const protections = controlDeclarations.map(({ name, summary }) => [name, summary.byDefault]);
const controls = controlDeclarations.map(({ name, summary }) => [name, summary.stops, summary.statePer]);

function renderCodes(): string {
  const rows = codes.map((code) => {
    const { control, kind, means, remedy } = findCode(code);
    const settings = listSettingsOf(code).map((path) => `\`${path}\``);
    return [`\`${code}\``, control, kind, means, remedy, settings.join(', ')];
  });
  return `# Error codes

A code is the reason of a refusal. Codes are API: new ones may be added, and none is ever renamed. \`deny\` refuses
one call and the agent continues; \`halt\` ends the task. \`npm run reference\` writes this page from the
declarations of the controls; do not edit it.

${renderTable(['code', 'control', 'kind', 'means', 'what to do', 'setting'], rows)}

A budget beyond one task has the same codes as a task's own budget; its \`counters\` have a \`scope\`. It denies
instead of halting if the call has no task, or if the store of the budget has not replied yet or is unavailable.

\`refusalOf(value)\` returns the code with its \`counters\`, such as \`{ actual: 51, limit: 50 }\`, and the texts for
the model and for a person: see [refusals](../guides/refusals.md).
`;
}

/** The file with the table of this head replaced. */
function replaceTable(path: string, head: readonly string[], rows: readonly (readonly string[])[]): string {
  const text = readFileSync(new URL(path, root), 'utf8');
  const start = text.indexOf(`| ${head.join(' | ')} |\n`);
  if (start < 0) throw new Error(`${path} has no table with the columns ${head.join(', ')}`);
  const end = /\n(?!\|)/.exec(text.slice(start))!.index + start;
  return text.slice(0, start) + renderTable(head, rows) + text.slice(end);
}

function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

if (process.argv.includes('--write')) {
  for (const [path, text] of renderReference()) writeFileSync(new URL(path, root), text);
}
