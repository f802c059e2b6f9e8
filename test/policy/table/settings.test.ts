import assert from 'node:assert/strict';
import test from 'node:test';
import { defaultBreaker } from '../../../src/core/controls/breaker/defaults.ts';
import { defaultSettings } from '../../../src/core/controls/defaults.ts';
import { sectionDeclarations, sections } from '../../../src/core/controls/sections.ts';
import { valueProblem } from '../../../src/core/declare/check-value.ts';
import { topFields } from '../../../src/core/declare/general-sections.ts';
import { toCamelCase, toSnakeCase } from '../../../src/core/names.ts';
import { checkPolicy } from '../../../src/policy/check/check-policy.ts';
import { listFieldNames } from '../../../src/policy/check/document-section.ts';
import { listVariables } from '../../../src/policy/check/environment-names.ts';
import { readText } from '../../harness/source.ts';

const all = [
  ...Object.entries(topFields).map(([name, setting]) => ({ path: name, name, setting })),
  ...Object.entries(sections).flatMap(([section, fields]) =>
    Object.entries(fields).map(([name, setting]) => ({ path: `${section}.${name}`, name, setting })),
  ),
];

test('every setting and every section has a description of one sentence', () => {
  const docs = [
    ...all.map(({ path, setting }) => [path, setting.doc]),
    ...Object.values(sectionDeclarations).map(({ name, doc }) => [name, doc]),
  ];
  for (const [path, doc = ''] of docs) assert.match(doc, /^[A-Z`"].*\.$/, path);
});

test('every default passes its own check', () => {
  for (const { path, setting } of all) {
    const problem = setting.default === undefined ? undefined : valueProblem(setting, setting.default);
    assert.equal(problem, undefined, path);
  }
});

test('a setting without a default may be "none"', () => {
  for (const { path, setting } of all) {
    if (setting.default === undefined) assert.equal(valueProblem(setting, 'none'), undefined, path);
  }
});

test('names convert from snake case to camel case and back', () => {
  for (const { name } of all) assert.equal(toSnakeCase(toCamelCase(name)), name);
});

test('no name in a section refers to two settings', () => {
  for (const fields of Object.values(sections)) {
    const names = listFieldNames(fields);
    assert.equal(new Set(names).size, names.length);
  }
});

test('no variable refers to two settings, and the session breaker has its five variables', () => {
  const names = listVariables().flatMap((variable) => variable.names);
  assert.equal(new Set(names).size, names.length);
  const seed = listVariables().flatMap(({ names: [name = ''], path }) =>
    name.startsWith('BB_') ? [[name, path]] : [],
  );
  assert.deepEqual(seed, [
    ['BB_CIRCUIT_BREAKER_TOOL_CAP', 'task.max_tool_calls'],
    ['BB_CIRCUIT_BREAKER_COST_CAP_CENTS', 'task.max_spend_cents'],
    ['BB_CIRCUIT_BREAKER_DURATION_SECS', 'task.max_duration_secs'],
    ['BB_CIRCUIT_BREAKER_IDLE_SECS', 'task.max_idle_secs'],
    ['BB_CIRCUIT_BREAKER_JACCARD', 'loop.similarity_jaccard_threshold'],
  ]);
});

test('the defaults in the root entry point and in a checked policy are the published ones', () => {
  const published: unknown = JSON.parse(readText('test/policy/table/default-settings.json'));
  assert.deepEqual(JSON.parse(JSON.stringify(defaultSettings)), published);
  assert.deepEqual(JSON.parse(JSON.stringify(checkPolicy({}).settings)), published);
  assert.deepEqual({ ...defaultBreaker }, defaultSettings.circuitBreaker);
});
