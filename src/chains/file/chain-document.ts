/** Parses the text of a chain file into values with positions: JSON if the name ends in `.json`, else YAML. */

import { chainBytesMax, chainDepthMax, chainTextMax, chainValuesMax } from '../../core/limits.ts';
import type { FindPosition } from '../../document/parsed-document.ts';
import { readPlainDocument, type SourceNode } from '../../document/plain-tree.ts';
import { makeProblem, type Problem } from './problem.ts';

const start = { line: 1, column: 1 };
/** How much the tree of a chain may hold. */
export const chainTreeLimits = { valuesMax: chainValuesMax, depthMax: chainDepthMax, textMax: chainTextMax };

/** The tree of a chain file; undefined if there is at least one problem. */
export interface ChainDocument {
  readonly tree: SourceNode | undefined;
  readonly positionOf: FindPosition;
}

/** Parses the text of a chain file. Never throws. */
export function readChainDocument(text: string, file: string, problems: Problem[]): ChainDocument {
  const sizeProblem = checkSize(text);
  if (sizeProblem !== undefined) {
    problems.push(sizeProblem);
    return { tree: undefined, positionOf: () => undefined };
  }
  const read = readPlainDocument(text, file.toLowerCase().endsWith('.json') ? 'JSON' : 'YAML', chainTreeLimits);
  problems.push(...read.problems.map(({ position, path, detail }) => makeProblem(position, path, detail)));
  const { tree, positionOf } = read;
  if (problems.length > 0 || tree?.kind !== 'value' || tree.value !== null) return { tree, positionOf };
  problems.push(makeProblem(start, [], 'the file is empty: a chain has at least an id and steps'));
  return { tree: undefined, positionOf };
}

function checkSize(text: string): Problem | undefined {
  if (typeof text !== 'string') return makeProblem(start, [], 'the file must be a text');
  const bytes = Buffer.byteLength(text);
  if (bytes <= chainBytesMax) return undefined;
  const position = { line: findLongestLine(text), column: 1 };
  return makeProblem(position, [], `the file has ${bytes} bytes, at most ${chainBytesMax}; its longest line is here`);
}

function findLongestLine(text: string): number {
  let longest = -1;
  let line = 1;
  let found = 1;
  for (let from = 0; from <= text.length; line++) {
    const end = text.indexOf('\n', from);
    const length = (end < 0 ? text.length : end) - from;
    if (length > longest) {
      longest = length;
      found = line;
    }
    if (end < 0) break;
    from = end + 1;
  }
  return found;
}
