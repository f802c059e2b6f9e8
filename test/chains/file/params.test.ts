import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readParams } from '../../../src/chains/file/params.ts';
import { readChain } from '../../../src/chains/file/read-chain.ts';
import { chainTextMax } from '../../../src/core/limits.ts';

function chainWith(params: string, use = 'x'): NonNullable<ReturnType<typeof readChain>['chain']> {
  const { chain, problems } = readChain(
    `id: c\nparams:\n${params}\nsteps:\n  - { id: s, ability: a, args: { v: "${use}" } }\n`,
  );
  assert.deepEqual(problems, []);
  assert.ok(chain);
  return chain;
}

const wrong = (chain: ReturnType<typeof chainWith>, given: Record<string, unknown>, message: RegExp) =>
  assert.throws(() => readParams(chain, given), { name: 'SwitchgearError', code: 'invalid_params', message });

const all = chainWith(`
  - { name: t, param_type: text }
  - { name: n, param_type: number }
  - { name: b, param_type: boolean, default: false }
  - { name: o, required: false }`);

test('texts from a command line and values from code are read by the declared type', () => {
  assert.deepEqual(readParams(all, { t: 'x', n: '1.5', b: 'true' }), { t: 'x', n: 1.5, b: true });
  assert.deepEqual(readParams(all, { t: 7, n: 2, o: '' }), { t: '7', n: 2, b: false, o: '' });
});

test('a number is a plain decimal: no hex, no words, no unit, nothing empty', () => {
  for (const n of ['', ' ', '0x10', '750abc', 'NaN', 'Infinity', Number.NaN, null, true, [], {}, 5n, '1e999'])
    wrong(all, { t: 'x', n }, /^n must be a number, got /);
  assert.equal(readParams(all, { t: 'x', n: ' -1e3 ' }).n, -1000);
});

test('a boolean is true or false', () => {
  for (const b of ['yes', 1, '', 'TRUE', null]) wrong(all, { t: 'x', n: 1, b }, /^b must be true or false, got /);
});

test('a text parameter has a maximum length, and a table is not a text', () => {
  wrong(all, { t: 'x'.repeat(chainTextMax + 1), n: 1 }, /^t must be a text of at most/);
  wrong(all, { t: {}, n: 1 }, /^t must be a text/);
});

test('all wrong parameters are reported at once, with the declared names', () => {
  wrong(
    all,
    { n: 'x', zzzz: 1, tt: 2 },
    new RegExp(
      [
        '^t is required: give it a text',
        'n must be a number, got "x"',
        '"zzzz" is not a parameter of c; it has t, n, b, o',
        '"tt" is not a parameter of c; did you mean t\\?$',
      ].join('\n'),
    ),
  );
});

test('a missing parameter gets its default; an optional one without a default is left out', () => {
  const chain = chainWith('  - { name: a, param_type: number, default: 5 }\n  - { name: b, required: false }');
  assert.deepEqual(readParams(chain), { a: 5 });
  assert.deepEqual(readParams(chain, { a: '6', b: undefined }), { a: 6 });
});

test('a used but undeclared name is accepted if passed, and an error if not', () => {
  const chain = chainWith('  - { name: a, default: x }', '{{used}}');
  assert.deepEqual(readParams(chain, { used: '5' }), { a: 'x', used: '5' });
  assert.deepEqual(readParams(chain, { used: 5 }), { a: 'x', used: 5 });
  wrong(chain, {}, /^used is used but not declared as a parameter, and was not given$/);
  wrong(chain, { used: null }, /^used must be a text/);
});

test('a name that only an exists condition uses may be missing', () => {
  const { chain } = readChain(
    'id: c\nsteps:\n  - id: s\n    ability: a\n    condition: { ref_key: maybe, op: exists }\n',
  );
  assert.ok(chain);
  assert.deepEqual(readParams(chain), {});
  assert.deepEqual(readParams(chain, { maybe: true }), { maybe: true });
});

test('names of a prototype are not parameters', () => {
  for (const name of ['__proto__', 'constructor', 'toString'])
    wrong(all, JSON.parse(`{"t":"x","n":1,"${name}":"x"}`), /is not a parameter of c/);
});
