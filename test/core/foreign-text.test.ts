import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cleanLine, cleanLines, sliceWhole, textOf } from '../../src/core/foreign-text.ts';

/** Values that break careless readers; each is made anew. */
const hostileValues: Readonly<Record<string, () => unknown>> = {
  'a toString that is no function': () => [{ toString: 1, valueOf: 1 }],
  'a null prototype': () => Object.assign(Object.create(null), { a: 1 }),
  'a cycle': () => {
    const value: Record<string, unknown> = {};
    value.self = value;
    return value;
  },
  'shared parts': () => {
    let list: unknown[] = ['x'];
    for (let depth = 0; depth < 8; depth++) list = Array.from({ length: 200 }, () => list);
    return list;
  },
  'an endless proxy': () => endless(),
  'a revoked proxy': () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  },
  'throwing traps': () =>
    new Proxy(
      {},
      {
        ownKeys() {
          throw new Error('no keys');
        },
        getPrototypeOf() {
          throw new Error('no class');
        },
      },
    ),
  'a throwing getter': () => ({
    get a() {
      throw new Error('no');
    },
    b: 1,
  }),
  'a throwing then': () =>
    Object.defineProperty({}, ['th', 'en'].join(''), {
      enumerable: true,
      get() {
        throw new Error('no');
      },
    }),
  'a toJSON that throws': () => ({
    toJSON() {
      throw new Error('no');
    },
  }),
  'a million keys': () => Object.fromEntries(Array.from({ length: 1_000_000 }, (_, at) => [`k${at}`, at])),
  'a lying length': () => new Proxy([], { get: (_, key) => (key === 'length' ? 1e15 : 'x') }),
  'five thousand levels': () => JSON.parse('['.repeat(5_000) + ']'.repeat(5_000)),
  'a huge integer': () => 1n << 10_000_000n,
  'a symbol': () => Symbol('x'),
  'a function': () => () => 1,
  'an error without a message': () => Object.assign(new Error('x'), { message: { toString: 1 }, name: 7 }),
  'an invalid date': () => new Date(Number.NaN),
  bytes: () => new Uint8Array(1_000),
  'a date whose methods throw': () =>
    Object.assign(new Date(0), {
      toISOString() {
        throw new Error('no');
      },
    }),
};

function endless(): object {
  return new Proxy(
    {},
    {
      ownKeys: () => ['a', 'b'],
      get: () => endless(),
      getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }),
    },
  );
}

describe('textOf', () => {
  for (const [name, make] of Object.entries(hostileValues)) {
    it(`reads ${name} within its bounds`, () => {
      const text = textOf(make());
      assert.equal(typeof text, 'string');
      assert.ok(text.length <= 4_097, `${text.length} characters`);
    });
  }

  it('returns a string as it is, and an object as JSON', () => {
    assert.equal(textOf('a "b"\n'), 'a "b"\n');
    assert.equal(
      textOf({ command: ['ls', 1, true, null], a: { b: 'c' } }),
      '{"command":["ls",1,true,null],"a":{"b":"c"}}',
    );
    assert.equal(textOf(new TypeError('bad')), 'TypeError: bad');
    assert.equal(textOf(undefined), 'undefined');
    assert.equal(textOf(12n), '12');
  });

  it('marks a part that throws and reads the rest', () => {
    const value = {
      get a() {
        throw new Error('no');
      },
      b: 1,
    };
    assert.equal(textOf(value), '{"a":[unreadable],"b":1}');
  });

  it('cuts a text, a list and an object that are too long, and never splits a character', () => {
    assert.equal(textOf('abcdef', { characters: 3 }), 'abc…');
    assert.match(
      textOf(
        Array.from({ length: 100 }, () => 1),
        { entries: 4 },
      ),
      /^\[1,1,1,…\]$/,
    );
    assert.equal(textOf([[[1]]], { depth: 2 }), '[[…]]');
    assert.ok(sliceWhole('a\u{1f534}', 2).isWellFormed());
    assert.ok(textOf(['\u{1f534}'.repeat(100)], { characters: 20 }).isWellFormed());
  });

  it('visits a bounded number of values', () => {
    let visits = 0;
    const shared = new Proxy([0, 0], {
      get(target, key) {
        visits++;
        return key === '0' || key === '1' ? shared : Reflect.get(target, key);
      },
    });
    textOf(shared, { depth: 1_000, entries: 50 });
    assert.ok(visits <= 200, `${visits} visits`);
  });
});

describe('cleanLine and cleanLines', () => {
  const hostile = {
    'an OSC sequence': 'a\u001b]0;title\u0007b',
    'a CSI sequence': 'a\u001b[2Jb',
    'a C1 CSI': 'a\u009b31mb',
    'a forged line': 'a\nswitchgear: all is well',
    'a carriage return': 'a\rb',
    'bidirectional characters': 'a\u202eb\u202c\u2066c\u2069\u200f\u061c',
    'line separators': 'a\u2028b\u2029c\u0085d',
    'half of a surrogate pair': `a${String.fromCharCode(0xd800)}b`,
    'invisible characters': 'a\u200bb\ufeff\u{e0041}',
  };
  for (const [name, text] of Object.entries(hostile)) {
    it(`clean ${name}`, () => {
      for (const cleaned of [cleanLine(text), cleanLines(text).replaceAll('\n', '')]) {
        assert.doesNotMatch(cleaned, /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
        assert.match(cleaned, /^a.*/);
      }
      assert.ok(!cleanLine(text).includes('\n'));
    });
  }

  it('leave clean text untouched: letters of any script, emoji with a variation selector', () => {
    const text = 'Überprüfung ⚠️ 🔴 日本語 עברית\u00a0x';
    assert.equal(cleanLine(text), text);
    assert.equal(cleanLines(`${text}\n\t${text}`), `${text}\n\t${text}`);
  });

  it('cleanLines keeps JSON valid, with the same values', () => {
    const half = String.fromCharCode(0xd800);
    const value = { 'k\u009b': `a\u202e${half}\u{e0041}\u2028\u001b[2J` };
    const cleaned = cleanLines(JSON.stringify(value, null, 2));
    assert.deepEqual(JSON.parse(cleaned), value);
    assert.doesNotMatch(cleaned.replaceAll('\n', ''), /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
  });
});
