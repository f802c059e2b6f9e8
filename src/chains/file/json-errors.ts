/** Finds the line and column of a JSON syntax error, which the JavaScript engine does not always report. */

import { reasonLengthMax } from '../../core/limits.ts';
import { shorten } from '../../core/names.ts';
import { makeProblem, type Problem } from './problem.ts';

/** The problem of a text that is no JSON; undefined where it is JSON. */
export function findJsonProblem(text: string): Problem | undefined {
  const message = readJsonError(text);
  if (message === undefined) return undefined;
  const before = text.slice(0, locateJsonError(text, message)).split('\n');
  const position = { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
  const sentence = message.replace(/ in JSON at position.*$/s, '');
  return makeProblem(position, [], `no valid JSON: ${shorten(sentence, reasonLengthMax)}`);
}

function readJsonError(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The engine does not always say where: the first sign is meant that no JSON could have there. */
function locateJsonError(text: string, message: string): number {
  const offset = /at position (\d+)/.exec(message)?.[1];
  if (offset !== undefined) return Number(offset);
  if (message.includes('end of JSON')) return text.length;
  const isPrefix = (length: number) => {
    const error = readJsonError(text.slice(0, length));
    return error === undefined || error.includes('end of JSON') || error.includes(`at position ${length} `);
  };
  let validLength = 0;
  let invalidLength = text.length + 1;
  while (invalidLength - validLength > 1) {
    const middle = (validLength + invalidLength) >>> 1;
    if (isPrefix(middle)) validLength = middle;
    else invalidLength = middle;
  }
  return validLength;
}
