import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultSettings } from '../../src/core/controls/defaults.ts';
import { sections as declaredSections } from '../../src/core/controls/sections.ts';
import { toCamelCase } from '../../src/core/names.ts';
import { listFiles, readText } from '../harness/source.ts';

const sections: Readonly<Record<string, object>> = {
  BreakerSettings: defaultSettings.circuitBreaker,
  LoopSettings: defaultSettings.loop,
  TaskSettings: defaultSettings.task,
  DelegationSettings: defaultSettings.delegation,
  RuleSettings: defaultSettings.ruleSettings,
  ApprovalSettings: defaultSettings.approval,
  PriceSettings: defaultSettings.prices,
  JournalSettings: defaultSettings.journal,
  AlertSettings: defaultSettings.alerts,
  AbilitySettings: defaultSettings.abilities,
  GatewaySettings: defaultSettings.gateway,
};

const source = ['src/core/settings.ts', ...listFiles('src/core/declare')].map(readText).join('\n');

for (const [type, defaults] of Object.entries(sections)) {
  test(`the doc comment of every field of ${type} states its default value`, () => {
    const body = source.split(`export interface ${type} {`)[1]!.split('\n}')[0]!;
    const documented = [...body.matchAll(/@default (.*?)(?: \*\/|\n)[^;]*?readonly (\w+)\??:/g)];
    const values = Object.fromEntries(documented.map(([, value, name]) => [name, value]));
    const fields = [...body.matchAll(/readonly (\w+)\??:/g)].map(([, name]) => name!);
    assert.deepEqual(fields.toSorted(), describedNames(defaults), `the fields that describe ${type}`);
    for (const name of fields) {
      const value: unknown = (defaults as Record<string, unknown>)[name];
      const text = value === undefined ? 'undefined' : JSON.stringify(value).replaceAll('"', "'").replaceAll(',', ', ');
      assert.equal(values[name]?.replace(/ \(.*\)$/, ''), text, name);
    }
  });
}

/** The names of the section with these defaults, as its fields describe them. */
function describedNames(defaults: object): readonly string[] {
  const settings = defaultSettings as unknown as Record<string, object>;
  const section = Object.keys(declaredSections).find((name) => settings[toCamelCase(name)] === defaults);
  return Object.keys(declaredSections[section!]!).map(toCamelCase).toSorted();
}
