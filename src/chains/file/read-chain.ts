/** The chain file: from a text to a chain, or to everything that is wrong with it. Strict: nothing is ignored. */

import { readFileSync, statSync } from 'node:fs';
import { chainBytesMax } from '../../core/limits.ts';
import type { RuleSettings } from '../../core/settings.ts';
import type { Path } from '../../policy/check/report.ts';
import { valueProblem } from '../../policy/check/value.ts';
import { sections } from '../../policy/table/settings.ts';
import type { Chain } from './chain.ts';
import { lintChain } from './lint.ts';
import { chainError, makeProblem, type Problem, type SourcePosition, sortProblems } from './problem.ts';
import { readParamList } from './read-params.ts';
import { readRules } from './read-rules.ts';
import { readSteps } from './read-step.ts';
import { readTree, type SourceNode, type TableEntry } from './source-tree.ts';
import { readTable, type TableReader, toPlainData } from './table-reader.ts';
import { checkNames } from './template-names.ts';

/** The result of reading a file: a chain or problems, and warnings about valid parts that are likely mistakes. */
export interface ChainReading {
  readonly chain?: Chain;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

/** How rules look where the chain says nothing: the policy's settings. */
export type LookupSettings = Partial<Pick<RuleSettings, 'onMissing' | 'lookup'>>;

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
export function readChain(text: string, file = 'chain.yaml', settings: LookupSettings = {}): ChainReading {
  const problems: Problem[] = [];
  const tree = readTree(text, file.toLowerCase().endsWith('.json'), problems);
  const table =
    tree && readTable(problems, { node: tree, path: [], position: tree }, [...chainKeys, '$schema'], ['id', 'steps']);
  if (tree === undefined || table === undefined) return { problems: sortProblems(problems), warnings: [] };
  const chain = readChainTable(problems, table);
  const positionOf = (path: Path) => findPosition(tree, path);
  const names = checkNames(chain, positionOf);
  problems.push(...names.problems);
  if (problems.length > 0) return { problems: sortProblems(problems), warnings: [] };
  return { chain, problems, warnings: sortProblems([...names.warnings, ...lintChain(chain, positionOf, settings)]) };
}

/** Reads a chain file. Throws `invalid_chain` with every problem, one a line. Messages call the file `name`. */
export function loadChain(path: string, name: string = path): Chain {
  const { chain, problems } = readChain(readChainText(path, name), name);
  if (chain === undefined) throw chainError(name, problems);
  return chain;
}

/** The text of a file that may be a chain. */
export function readChainText(path: string, name: string = path): string {
  const start = { line: 1, column: 1 };
  try {
    const { size } = statSync(path);
    // Somewhat too long is read all the same, to say where.
    if (size > 16 * chainBytesMax) throw new Error(`it has ${size} bytes, at most ${chainBytesMax}`);
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    const reason = error instanceof TypeError ? 'it is not UTF-8' : (error as Error).message;
    throw chainError(name, [makeProblem(start, [], `the file cannot be read: ${reason}`)]);
  }
}

function readChainTable(problems: Problem[], table: TableReader): Chain {
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
  const found = table.find(name);
  const setting = sections.rule_settings?.[name];
  if (found === undefined || found.node.kind === 'invalid' || setting === undefined) return undefined;
  const value = toPlainData(found.node);
  const problem = valueProblem(setting, value);
  return problem === undefined ? value : table.addProblem(name, problem);
}

/** Where a path leads, or the nearest thing on the way. */
function findPosition(tree: SourceNode, path: Path): SourcePosition {
  let node: SourceNode = tree;
  let position: SourcePosition = tree;
  for (const part of path) {
    const next: SourcePosition | undefined =
      node.kind === 'list'
        ? node.items[Number(part)]
        : node.kind === 'table'
          ? node.entries.get(String(part))
          : undefined;
    if (next === undefined) break;
    position = next;
    node = 'value' in next && node.kind === 'table' ? (next as TableEntry).value : (next as SourceNode);
  }
  return { line: position.line, column: position.column };
}
