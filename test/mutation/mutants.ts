/** The small slips to try on a file: each changes one place of its source, types aside. */

import { stripTypeScriptTypes } from 'node:module';
import { Script } from 'node:vm';
import { codeOf } from '../harness/source.ts';

export interface Mutant {
  readonly file: string;
  readonly line: number;
  /** Where in the source without its types, what stands there, and what is put instead. */
  readonly at: number;
  readonly was: string;
  readonly becomes: string;
}

/** What each operator is mistaken for. */
const slips: Readonly<Record<string, readonly string[]>> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '===': ['!=='],
  '!==': ['==='],
  '+': ['-'],
  '-': ['+'],
  '*': ['/'],
  '/': ['*'],
  '%': ['*'],
  '**': ['*'],
  '&&': ['||'],
  '||': ['&&'],
  '??': ['&&'],
  '&': ['|'],
  '|': ['&'],
  '<<': ['>>'],
  '>>': ['<<'],
  '>>>': ['<<'],
  '+=': ['-='],
  '-=': ['+='],
  '??=': ['='],
  '++': ['--'],
  '--': ['++'],
};

/** Words that others could stand for: verdicts, and what a reader could mix up. */
const words: Readonly<Record<string, string>> = {
  halt: 'deny',
  deny: 'halt',
  allow: 'deny',
  wait: 'ask',
  ask: 'wait',
  success: 'failure',
  failure: 'success',
  self: 'ancestor',
  true: 'false',
  false: 'true',
  max: 'min',
  min: 'max',
  some: 'every',
  every: 'some',
  ceil: 'floor',
  floor: 'ceil',
};

/** A line that is one statement: a condition with what follows from it, an assignment, a call, a count. */
const statement = new RegExp(
  String.raw`^ *(?:(?:else )?if \(.*;` +
    String.raw`|(?!(?:const|let|return|throw|import|export|case|default|else|if|for|break|continue)\b)[\w$.[\]!?+-]+` +
    String.raw`(?: [-+*?|&]*= [^;{]*|\(.*\)|\+\+|--);) *$`,
  'gm',
);

/** The source as it runs: types are blanks, everything stands where it stood. */
export function strippedOf(source: string): string {
  return stripTypeScriptTypes(source);
}

/** Every mutant of a file, in the order of its lines. */
export function mutantsOf(file: string, source: string): Mutant[] {
  const code = strippedOf(source);
  const bare = codeOf(code, 'nothing');
  const texts = codeOf(code, 'text');
  const found: Mutant[] = [];
  const add = (at: number, was: string, becomes: string): void => {
    const line = code.slice(0, at).split('\n').length;
    if (isImport(texts, at) || found.some((known) => known.at === at && known.becomes === becomes)) return;
    found.push({ file, line, at, was, becomes });
  };
  for (const { 0: was, index } of bare.matchAll(
    /(?<= )(?:[<>]=?|[!=]==|[-+*/%&|]|\*\*|&&|\|\||\?\?=?|<<|>>>?|[-+]=)(?=\s)/g,
  )) {
    // Joined texts are words for people.
    if (was === '+' && /['"`]\s*$/.test(code.slice(0, index))) continue;
    for (const becomes of slips[was] ?? []) add(index, was, becomes);
  }
  for (const { 0: was, index } of bare.matchAll(/\+\+|--/g)) add(index, was, slips[was]![0]!);
  for (const { 0: was, index } of bare.matchAll(/!(?=[\w(])/g)) add(index, was, '');
  for (const { 0: was, index } of bare.matchAll(/(?<![\w.$])\d[\d_]*(?:\.\d+)?(?![\w.])/g)) {
    // An index that the compiler doubts is always there.
    if (!/\] \?\? $/.test(bare.slice(0, index))) add(index, was, `${Number(was.replaceAll('_', '')) + 1}`);
  }
  for (const { 0: was, index } of bare.matchAll(
    /\b(?:true|false|(?<=Math\.)(?:max|min|ceil|floor)|(?<=\.)(?:some|every)(?=\())\b/g,
  )) {
    add(index, was, words[was]!);
  }
  for (const { 0: was, index, 1: text = '' } of texts.matchAll(/(?<=[^\w$])'([a-zA-Z][\w-]*)'/g)) {
    if (bare[index] === ' ') add(index, was, `'${words[text] ?? '_'}'`);
  }
  for (const { index } of bare.matchAll(/\bif (?=\()/g)) {
    const from = index + 3;
    const to = closing(bare, from);
    // The opposite of one comparison is among its slips already.
    if (/^\((?:[^&|?(]* [!=]==|!)[^&|?]*\)$/.test(bare.slice(from, to))) continue;
    add(from, code.slice(from, to), `(!${code.slice(from, to)})`);
  }
  for (const { 0: was, index } of bare.matchAll(statement)) {
    const start = index + was.search(/\S/);
    const end = index + was.trimEnd().length;
    if (isWhole(bare.slice(start, end))) add(start, code.slice(start, end), ';');
  }
  return found.filter((mutant) => isReadable(plantedIn(code, mutant))).sort((a, b) => a.at - b.at);
}

/** The source without types, with the slip in it. */
export function plantedIn(code: string, { at, was, becomes }: Pick<Mutant, 'at' | 'was' | 'becomes'>): string {
  if (!code.startsWith(was, at)) throw new Error(`'${was}' does not stand at ${at}`);
  return code.slice(0, at) + becomes + code.slice(at + was.length);
}

function isImport(code: string, at: number): boolean {
  const line = code.slice(code.lastIndexOf('\n', at) + 1, at);
  return /^\s*(?:import\b|\} from )/.test(line);
}

/** Where the bracket that opens here is closed. */
function closing(code: string, open: number): number {
  let depth = 0;
  for (let at = open; at < code.length; at++) {
    if (code[at] === '(') depth++;
    if (code[at] === ')' && --depth === 0) return at + 1;
  }
  return code.length;
}

function isWhole(line: string): boolean {
  return [...'([{'].every((open, at) => line.split(open).length === line.split(')]}'[at]!).length);
}

/** A slip that does not even parse is none. */
function isReadable(code: string): boolean {
  try {
    new Script(code.replace(/^import\b.*$|\bexport (?=const|function|class)/gm, ''));
    return true;
  } catch {
    return false;
  }
}
