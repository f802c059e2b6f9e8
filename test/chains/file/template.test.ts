import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { collectNames, fillTemplates, parseTemplate, type TemplateScope } from '../../../src/chains/file/template.ts';
import { chainFilledMax } from '../../../src/core/limits.ts';

const scope: TemplateScope = {
  params: { ticker: 'ACME', max: 500, dry: false, price: 1 },
  outputs: { price: '12.5', order: { amount: 3, lines: [{ sku: 'a' }] }, none: null },
};

const unfilled = (value: unknown, message: RegExp, within = scope) =>
  assert.throws(() => fillTemplates(value, within), { name: 'SwitchgearError', code: 'unfilled_template', message });

test('{{name}} alone keeps the type of its value; within a text it becomes text', () => {
  assert.equal(fillTemplates('{{max}}', scope), 500);
  assert.equal(fillTemplates('{{ dry }}', scope), false);
  assert.deepEqual(fillTemplates('{{order}}', scope), { amount: 3, lines: [{ sku: 'a' }] });
  assert.equal(fillTemplates('{{none}}', scope), null);
  assert.equal(fillTemplates('max {{max}} of {{ticker}}', scope), 'max 500 of ACME');
  assert.equal(fillTemplates('order: {{order}}', scope), 'order: {"amount":3,"lines":[{"sku":"a"}]}');
});

test('outputs take precedence over parameters, and a path reads into an output', () => {
  assert.equal(fillTemplates('{{price}}', scope), '12.5');
  assert.equal(fillTemplates('{{order.amount}}', scope), 3);
  assert.equal(fillTemplates('{{order.lines.0.sku}}', scope), 'a');
});

test('values are filled at any depth; keys, numbers and other values stay', () => {
  const args = { a: ['{{max}}', { b: '{{ticker}}!' }], c: 7, d: null, '{x}': true };
  assert.deepEqual(fillTemplates(args, scope), { a: [500, { b: 'ACME!' }], c: 7, d: null, '{x}': true });
  assert.deepEqual(args.a[0], '{{max}}');
});

test('a filled value is not read as a template again', () => {
  const nested: TemplateScope = { params: { a: '{{b}}', b: 'secret' }, outputs: {} };
  assert.equal(fillTemplates('{{a}}', nested), '{{b}}');
  assert.equal(fillTemplates('<{{a}}>', nested), '<{{b}}>');
});

test('a name without a value is an error, and so is a name of a prototype', () => {
  unfilled('{{nobody}}', /^\{\{nobody\}\} stands for nothing/);
  for (const name of [
    'constructor',
    '__proto__',
    'toString',
    'order.constructor',
    'order.lines.length',
    'ticker.length',
  ]) {
    if (name === 'order.lines.length')
      assert.equal(fillTemplates(`{{${name}}}`, scope), 1); // An own property of a list.
    else unfilled(`{{${name}}}`, /stands for nothing/);
  }
});

test('an invalid template is refused with a reason', () => {
  for (const [text, error] of [
    ['{{a', /without \}\}/],
    ['x {{a}} {{b', /without \}\}/],
    ['{{}}', /empty/],
    ['{{  }}', /empty/],
    ['{{a b}}', /not a name/],
    ['{{a()}}', /not a name/],
    ['{{a["b"]}}', /not a name/],
    ['{{{a}}}', /not a name/],
    ['{{a.}}', /not a name/],
    ['{{.a}}', /not a name/],
    ['{{1+1}}', /not a name/],
  ] as const) {
    assert.match(parseTemplate(text).error ?? '', error, text);
    unfilled(text, error);
  }
  assert.deepEqual(parseTemplate('a }} {b} {'), { pieces: ['a }} {b} {'] });
  assert.deepEqual(parseTemplate('{"a":{{x}}}'), { pieces: ['{"a":', { name: 'x' }, '}'] });
});

test('a filled text over the size limit is refused before it is built', () => {
  const large: TemplateScope = {
    params: {},
    outputs: { big: 'x'.repeat(chainFilledMax / 4), tree: { big: ['y'.repeat(chainFilledMax / 4)] } },
  };
  assert.equal(fillTemplates('{{big}}', large).length, chainFilledMax / 4);
  unfilled('{{big}}'.repeat(5), /longer than/, large);
  unfilled(Array(5).fill('{{big}}'), /longer than/, large);
  unfilled(Array(5).fill('{{tree}}'), /longer than/, large);
});

test('names are found at any depth', () => {
  assert.deepEqual(collectNames({ a: ['{{x}} {{y.z}}', { b: '{{w}}' }], c: 5, d: null }), ['x', 'y.z', 'w']);
});

test('filling inserts any text unchanged', () => {
  fc.assert(
    fc.property(
      fc.string(),
      fc.string(),
      fc.string().filter((text) => !text.includes('{')),
      (a, b, between) => {
        const filled = fillTemplates(`{{a}}${between}{{b}}`, { params: { a }, outputs: { b } });
        assert.equal(filled, a + between + b);
      },
    ),
  );
});
