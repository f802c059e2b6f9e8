/** The chain file: from a text to a chain, or to everything that is wrong with it. Strict: nothing is ignored. */

import { readFileSync, statSync } from 'node:fs';
import { chainBytesMax } from '../../core/limits.ts';
import type { RuleSettings } from '../../core/settings.ts';
import type { Path } from '../../policy/check/report.ts';
import { valueProblem } from '../../policy/check/value.ts';
import { sections } from '../../policy/table/settings.ts';
import type { Chain } from './chain.ts';
import { lintChain } from './lint.ts';
import { chainError, inOrder, type Place, type Problem, problemAt } from './problem.ts';
import { readParamList } from './read-params.ts';
import { readRules } from './read-rules.ts';
import { readSteps } from './read-step.ts';
import { readTree, type Written, type WrittenEntry } from './source-tree.ts';
import { plainOf, readTable, type TableReader } from './table-reader.ts';
import { checkNames } from './template-names.ts';

/** What reading a file gave: a chain, or problems. Warnings are things that can be meant and seldom are. */
export interface ChainReading {
  readonly chain?: Chain;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

/** How rules look where the chain says nothing: the policy's settings. */
export type LookSettings = Partial<Pick<RuleSettings, 'onMissing' | 'lookup'>>;

const chainKeys: readonly string[] = [
  'id',
  'name',
  'description',
  'params',
  'circuit_breakers',
  'on_missing',
  'lookup',
  'steps',
];

/** Reads the text of a chain file: YAML, or JSON where the name ends so. Never throws. */
export function readChain(text: string, file = 'chain.yaml', settings: LookSettings = {}): ChainReading {
  const problems: Problem[] = [];
  const tree = readTree(text, file.toLowerCase().endsWith('.json'), problems);
  const table =
    tree && readTable(problems, { written: tree, path: [], place: tree }, [...chainKeys, '$schema'], ['id', 'steps']);
  if (tree === undefined || table === undefined) return { problems: inOrder(problems), warnings: [] };
  const chain = chainOf(problems, table);
  const placeOf = (path: Path) => placeIn(tree, path);
  const names = checkNames(chain, placeOf);
  problems.push(...names.problems);
  if (problems.length > 0) return { problems: inOrder(problems), warnings: [] };
  return { chain, problems, warnings: inOrder([...names.warnings, ...lintChain(chain, placeOf, settings)]) };
}

/** Reads a chain file. Throws `invalid_chain` with every problem, one a line. Messages call the file `name`. */
export function loadChain(path: string, name: string = path): Chain {
  const { chain, problems } = readChain(readText(path, name), name);
  if (chain === undefined) throw chainError(name, problems);
  return chain;
}

/** The text of a file that may be a chain. */
export function readText(path: string, name: string = path): string {
  const start = { line: 1, column: 1 };
  try {
    const { size } = statSync(path);
    // Somewhat too long is read all the same, to say where.
    if (size > 16 * chainBytesMax) throw new Error(`it has ${size} bytes, at most ${chainBytesMax}`);
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    const reason = error instanceof TypeError ? 'it is not UTF-8' : (error as Error).message;
    throw chainError(name, [problemAt(start, [], `the file cannot be read: ${reason}`)]);
  }
}

function chainOf(problems: Problem[], table: TableReader): Chain {
  const id = table.name('id') ?? '';
  const name = table.text('name');
  const description = table.text('description');
  const params = readParamList(problems, table);
  const onMissing = readSetting(table, 'on_missing') as RuleSettings['onMissing'] | undefined;
  const lookup = readSetting(table, 'lookup') as RuleSettings['lookup'] | undefined;
  return {
    id,
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    params,
    rules: readRules(problems, table, `chain:${id || 'chain'}`),
    ruleSettings: { ...(onMissing && { onMissing }), ...(lookup && { lookup }) },
    steps: readSteps(problems, table, new Set(params.map((param) => param.name))),
  };
}

/** A setting of the policy's section on rules, under its own name. */
function readSetting(table: TableReader, name: 'on_missing' | 'lookup'): unknown {
  const found = table.at(name);
  const setting = sections.rule_settings?.[name];
  if (found === undefined || found.written.kind === 'wrong' || setting === undefined) return undefined;
  const value = plainOf(found.written);
  const problem = valueProblem(setting, value);
  return problem === undefined ? value : table.wrong(name, problem);
}

/** Where a path leads, or the nearest thing on the way. */
function placeIn(tree: Written, path: Path): Place {
  let at: Written = tree;
  let place: Place = tree;
  for (const part of path) {
    const next: Place | undefined =
      at.kind === 'list' ? at.items[Number(part)] : at.kind === 'table' ? at.entries.get(String(part)) : undefined;
    if (next === undefined) break;
    place = next;
    at = 'value' in next && at.kind === 'table' ? (next as WrittenEntry).value : (next as Written);
  }
  return { line: place.line, column: place.column };
}
