/** What is wrong with JSON as such, and where: the engine of the language says the one, and seldom the other. */

import { reasonLengthMax } from '../../core/limits.ts';
import { shortened } from '../../core/names.ts';
import { type Problem, problemAt } from './problem.ts';

/** The problem of a text that is no JSON; undefined where it is JSON. */
export function jsonProblem(text: string): Problem | undefined {
  const message = jsonError(text);
  if (message === undefined) return undefined;
  const before = text.slice(0, jsonErrorAt(text, message)).split('\n');
  const place = { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
  const sentence = message.replace(/ in JSON at position.*$/s, '');
  return problemAt(place, [], `no valid JSON: ${shortened(sentence, reasonLengthMax)}`);
}

function jsonError(text: string): string | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** The engine does not always say where: the first sign is meant that no JSON could have there. */
function jsonErrorAt(text: string, message: string): number {
  const said = /at position (\d+)/.exec(message)?.[1];
  if (said !== undefined) return Number(said);
  if (message.includes('end of JSON')) return text.length;
  const isBegun = (length: number) => {
    const wrong = jsonError(text.slice(0, length));
    return wrong === undefined || wrong.includes('end of JSON') || wrong.includes(`at position ${length} `);
  };
  let fine = 0;
  let bad = text.length + 1;
  while (bad - fine > 1) {
    const middle = (fine + bad) >>> 1;
    if (isBegun(middle)) fine = middle;
    else bad = middle;
  }
  return fine;
}
