/** Reads a chain file: returns a chain, or every problem of the file. Unknown keys are problems. */

import { resolve } from 'node:path';
import { sections } from '../../core/controls/sections.ts';
import { valueProblem } from '../../core/declare/check-value.ts';
import { chainBytesMax } from '../../core/limits.ts';
import type { Path } from '../../core/names.ts';
import type { RuleSettings } from '../../core/settings.ts';
import type { SourcePosition } from '../../document/parsed-document.ts';
import { type SourceNode, toPlainData } from '../../document/plain-tree.ts';
import { readUtf8 } from '../../document/read-utf8.ts';
import type { Chain } from './chain.ts';
import { readChainDocument } from './chain-document.ts';
import { lintChain } from './lint.ts';
import { chainError, makeProblem, type Problem, sortProblems } from './problem.ts';
import { readParamList } from './read-params.ts';
import { readRules } from './read-rules.ts';
import { readSteps } from './read-step.ts';
import { readTable, type TableReader } from './table-reader.ts';
import { checkNames } from './template-names.ts';

/** The result of reading a file: a chain or problems, and warnings about valid parts that are likely mistakes. */
export interface ChainReading {
  readonly chain?: Chain;
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

/** The policy's rule settings, which apply where the chain sets nothing. */
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

/** Reads the text of a chain file: JSON if the name ends in `.json`, else YAML. Never throws. */
export function readChain(text: string, file = 'chain.yaml', settings: LookupSettings = {}): ChainReading {
  const problems: Problem[] = [];
  const { tree, positionOf: findPosition } = readChainDocument(text, file, problems);
  if (tree === undefined) return { problems: sortProblems(problems), warnings: [] };
  const positionOf = (path: Path) => findPosition(path) ?? { line: tree.line, column: tree.column };
  const { chain, warnings } = readChainTree(problems, tree, positionOf);
  if (chain === undefined) return { problems: sortProblems(problems), warnings: [] };
  return { chain, problems, warnings: sortProblems([...warnings, ...lintChain(chain, positionOf, settings)]) };
}

/** Checks the tree of a chain, from a file or from code. Without a chain there is at least one problem. */
export function readChainTree(
  problems: Problem[],
  tree: SourceNode,
  positionOf: (path: Path) => SourcePosition,
): { readonly chain?: Chain; readonly warnings: readonly Problem[] } {
  const source = { node: tree, path: [], position: tree };
  const table = readTable(problems, source, [...chainKeys, '$schema'], ['id', 'steps']);
  if (table === undefined) return { warnings: [] };
  const chain = readChainTable(problems, table);
  const names = checkNames(chain, positionOf);
  problems.push(...names.problems);
  return problems.length > 0 ? { warnings: [] } : { chain, warnings: names.warnings };
}

/** Reads a chain file. Throws `invalid_chain` with one problem per line; messages call the file `name`. */
export function loadChain(path: string, name: string = path): Chain {
  const { chain, problems } = readChain(readChainText(path, name), name);
  if (chain === undefined) throw chainError(name, problems);
  chainFiles.set(chain, resolve(path));
  return chain;
}

const chainFiles = new WeakMap<Chain, string>();

/** The path of the file that a chain was loaded from; undefined for a chain from code. */
export function chainFileOf(chain: Chain): string | undefined {
  return chainFiles.get(chain);
}

/** Reads the text of a chain file from disk. */
export function readChainText(path: string, name: string = path): string {
  const start = { line: 1, column: 1 };
  try {
    // Reads up to 16 times the limit, so that the message can say where the file exceeds it.
    return readUtf8(path, chainBytesMax, 16 * chainBytesMax);
  } catch (error) {
    throw chainError(name, [makeProblem(start, [], `the file cannot be read: ${(error as Error).message}`)]);
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

/** Reads `on_missing` or `lookup`, checked as in the section `rule_settings` of the policy. */
function readSetting(table: TableReader, name: 'on_missing' | 'lookup'): unknown {
  const found = table.find(name);
  const setting = sections.rule_settings?.[name];
  if (found === undefined || found.node.kind === 'invalid' || setting === undefined) return undefined;
  const value = toPlainData(found.node);
  const problem = valueProblem(setting, value);
  return problem === undefined ? value : table.addProblem(name, problem);
}
