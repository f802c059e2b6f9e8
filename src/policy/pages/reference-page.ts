/** Builds the reference page of settings from the table; `switchgear policy reference` prints it. */

import { sectionDeclarations } from '../../core/controls/sections.ts';
import { describeNumber } from '../../core/declare/check-value.ts';
import { budgetFields, topFields } from '../../core/declare/general-sections.ts';
import type { SectionFields, Setting } from '../../core/declare/setting.ts';
import { upstreamFields } from '../../core/declare/upstream-settings.ts';
import { webhookFields } from '../../core/declare/webhook-settings.ts';
import { listVariables } from '../check/environment-names.ts';
import { presets } from '../table/presets.ts';

/** Returns the page as Markdown. */
export function settingsReference(): string {
  const parts = [
    opening,
    '## Outside any section',
    renderSettingsTable(topFields),
    ...Object.values(sectionDeclarations).flatMap(({ name, doc, fields }) => [
      `## \`${name}\``,
      doc,
      renderSettingsTable(fields),
    ]),
    overrides,
    '## `budgets`',
    budgets,
    budgetTable(),
    '## `webhooks`',
    webhooks,
    webhookTable(),
    '## `upstreams`',
    upstreams,
    upstreamTable(),
    '## Presets',
    presetText,
    presetTable(),
    environment,
    environmentTable(),
  ];
  return `${parts.join('\n\n')}\n`;
}

const opening = `# Settings

\`switchgear policy reference\` prints this page from the table of settings; do not edit it.

A policy is one document: \`switchgear.toml\`, \`.yaml\`, \`.yml\` or \`.json\`, or an object passed to
\`createSwitchgear\`. Every setting has a default, so a policy contains only the settings that differ. Names are
in snake case or in camel case (\`failure_threshold\`, \`failureThreshold\`). The checker is strict: an unknown
name, a wrong type or a number out of range is an error that quotes the place and the value, and the checker
reports all errors at once. A number must not be written as a string, and neither 0 nor null switches a limit off;
an optional limit is switched off with the word \`"none"\`.

A document with \`reset_timeout_seconds\` in \`circuit_breaker\` and no preset is a CueDeck document and starts
from \`preset = "cuedeck"\`.

The column *stricter* says which values protect more: a lower number, \`true\`, earlier words of the list, or only the
default. A policy file that is found in a folder may make a setting stricter; anything else waits for
[trust](../guides/policy.md).

\`switchgear policy check\` checks a file, \`switchgear policy explain\` prints every effective value with its
origin, and \`switchgear policy schema\` prints the JSON Schema, which is also \`policy.schema.json\` at the
root of the package.`;

const presetText = `A preset is named at the top of a document (\`preset = "strict"\`) or in a tool's table. Settings of
the document override those of the preset. No preset switches a control off.`;

/** Settings of single tools and agents, budgets, rules and mappings in TOML. */
export const overridesExample = `
[tools.external_api]            # one tool; every setting of circuit_breaker, and preset
failure_threshold = 2
recovery_timeout_secs = 120

[tools."mail.*"]                # a pattern; a pattern with more fixed letters overrides one with fewer
preset = "mcp"

[agents.Researcher.task]        # one agent: task and circuit_breaker
max_tool_calls = 80

[[budgets]]                     # the spend of all tasks of a project in any hour
scope = "project"
unit = "spend_cents"
limit = 2000
window_secs = 3600

[[rules]]                       # target is *, chain:id, tool:name or agent:name; default *
target = "tool:trading.*"
condition = "amount>1000"
action = "confirm"
reason = "More than $1000 needs a person."

[mappings.my-agent.events.call] # how switchgear run reads the JSON lines of my-agent
as = "tool_use"
id = "call.id"
name = "call.tool"
input = "call.args"`.trim();

const overrides = `## \`tools\`, \`agents\`, \`budgets\`, \`rules\`, \`mappings\`

\`\`\`toml
${overridesExample}
\`\`\`

A breaker's settings are those of \`circuit_breaker\`, then of its agent, then \`same_error_tools\`, then of the
patterns that match the tool, then of the tool's own name, then of the code; later ones override earlier ones.
\`tool_x\` is another name of the tool \`x\`. A rule may also be a line:
\`'ability:shell.execute|abort|"No shell."'\`. A mapping has \`kind\`, the field that holds the kind of a line
(default \`type\`), and \`events\`: see [JSON lines](../guides/json-lines.md).`;

const budgets = `Limits that several tasks share; by default there are none. Two budgets must differ in scope, unit or
window. The guide [tasks and budgets](../guides/tasks-and-budgets.md) explains how they are counted.`;

const webhooks = `Where \`switchgear serve\` sends alerts, halts and questions; by default nowhere. The guide
[alerts](../guides/alerts.md) shows messages and signatures. A webhook of a file that was found in a folder waits for
trust.`;

const upstreams = `The hosts that \`switchgear gateway\` reaches. Without any, those of the three providers.
With a list, only these: a call takes the first upstream that offers its API and its model. The guide
[gateway](../guides/gateway.md) has examples. An upstream of a file that was found in a folder waits for trust.`;

const environment = `## Environment

A variable overrides one value of the policy. Its text is trimmed. Numbers are decimal digits, with a fraction
if the setting allows one: no exponent, no hex. Switches are \`true\` or \`false\`. A bad value causes one warning,
and the stricter of default and policy holds. \`off\`, \`none\` and \`loop.enabled=false\` are bad values: only a
policy can switch these protections off. A value that protects less than the policy is reported by every process,
and below an agent that the store guards it is not taken. If two variables name one setting, the \`SWITCHGEAR_\`
one wins.

\`SWITCHGEAR_POLICY\` names a policy file, \`SWITCHGEAR_TRUST\` the digests of trusted ones: see
[policies and trust](../guides/policy.md).`;

function renderSettingsTable(fields: SectionFields): string {
  const rows = Object.entries(fields).map(([name, setting]) => {
    const aliases = setting.aliases?.length
      ? ` Aliases: ${setting.aliases.map((alias) => `\`${alias}\``).join(', ')}.`
      : '';
    const columns = [describeSetting(setting), describeDefault(name, setting), describeStricter(setting)];
    return [`\`${name}\``, ...columns, `${setting.doc}${aliases}`];
  });
  return renderMarkdownTable(['setting', 'value', 'default', 'stricter', 'meaning'], rows);
}

function budgetTable(): string {
  const rows = Object.entries(budgetFields).map(([name, setting]) => [
    `\`${name}\``,
    describeSetting(setting),
    setting.default === undefined ? 'none' : 'required',
    setting.doc,
  ]);
  return renderMarkdownTable(['field', 'value', 'default', 'meaning'], rows);
}

function webhookTable(): string {
  return fieldTable(webhookFields);
}

function upstreamTable(): string {
  return fieldTable(upstreamFields);
}

function fieldTable(fields: Readonly<Record<string, string>>): string {
  const rows = Object.entries(fields).map(([name, doc]) => [`\`${name}\``, doc]);
  return renderMarkdownTable(['field', 'meaning'], rows);
}

function describeSetting(setting: Setting): string {
  switch (setting.kind) {
    case 'whole':
    case 'number':
      return `${describeNumber(setting)}, at most ${setting.max}${setting.optional ? ', or `"none"`' : ''}`;
    case 'flag':
      return '`true` or `false`';
    case 'choice':
      return setting.of.map((word) => `\`${word}\``).join(', ');
    case 'texts':
      return setting.of ? `list of ${setting.of.map((word) => `\`${word}\``).join(', ')}` : 'list of texts';
    case 'counts':
      return 'table of whole numbers from 1';
    case 'names':
      return setting.of ? `table of ${setting.of.map((word) => `\`${word}\``).join(', ')}` : 'table of names';
    case 'tools':
      return '`allow` and `deny`: list of globs, or table of such lists';
  }
}

/** Which values protect more than others. */
function describeStricter({ stricter }: Setting): string {
  if (stricter === 'any') return '';
  if (typeof stricter === 'boolean') return `\`${stricter}\``;
  if (typeof stricter === 'string') return stricter === 'default' ? 'the default' : stricter;
  return 'lowerThan' in stricter
    ? 'lower'
    : stricter
        .flat()
        .map((word) => `\`${word}\``)
        .join(', ');
}

function describeDefault(name: string, setting: Setting): string {
  const { default: value } = setting;
  if (value === undefined) return ('derived' in setting && setting.derived) || 'none';
  if (Array.isArray(value)) return value.map((word) => `\`${word}\``).join(' ');
  if (typeof value === 'object') return 'empty';
  return `\`${value}\`${unitOf(name)}`;
}

/** The unit at the end of a setting's name, as it is written after a number. */
export function unitOf(name: string): string {
  return name.endsWith('_secs') ? ' s' : name.endsWith('_cents') ? ' cents' : '';
}

function presetTable(): string {
  const rows = Object.entries(presets).map(([name, document]) => {
    const settings = Object.entries(document).flatMap(([section, values]) =>
      Object.entries(values as object).map(
        ([key, value]) => `\`${section}.${key}\` ${Array.isArray(value) ? value.join(' ') || 'empty' : value}`,
      ),
    );
    return [`\`${name}\``, name === 'default' ? 'every default of `circuit_breaker`' : settings.join(', ')];
  });
  return renderMarkdownTable(['preset', 'says'], rows);
}

function environmentTable(): string {
  const rows = listVariables().map(({ path, names }) => [
    names
      .toReversed()
      .map((name) => `\`${name}\``)
      .join(', '),
    `\`${path}\``,
  ]);
  return renderMarkdownTable(['variable', 'setting'], rows);
}

function renderMarkdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}
