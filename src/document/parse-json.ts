/** Parses strict JSON with unique keys, and finds the place of an error that the JavaScript engine does not report. */

import { findRepeatedKey, locateYaml } from './parse-yaml.ts';
import type { ParsedDocument, SourcePosition, SyntaxProblem } from './parsed-document.ts';

/** Parses a JSON document. */
export function parseJson(text: string): ParsedDocument {
  const problem = findJsonProblem(text);
  if (problem !== undefined) return { ok: false, problem };
  const { document, positionAt, positionOf } = locateYaml(text); // YAML contains JSON, and its parser keeps positions.
  const repeated = findRepeatedKey(document, positionAt);
  return repeated === undefined ? { ok: true, value: JSON.parse(text), positionOf } : { ok: false, problem: repeated };
}

/** Finds the syntax error of a text that is not strict JSON. */
export function findJsonProblem(text: string): SyntaxProblem | undefined {
  const cause = readJsonError(text);
  if (cause === undefined) return undefined;
  const message = cause.message.replace(/ in JSON at position.*$/s, '');
  return { message, position: positionAt(text, locateJsonError(text, cause.message)), cause };
}

function positionAt(text: string, offset: number): SourcePosition {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

function readJsonError(text: string): Error | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

/** Returns the offset that the engine reports, else of the first character that no JSON can have there. */
function locateJsonError(text: string, message: string): number {
  const offset = /at position (\d+)/.exec(message)?.[1];
  if (offset !== undefined) return Number(offset);
  if (message.includes('end of JSON')) return text.length;
  const isPrefix = (length: number) => {
    const error = readJsonError(text.slice(0, length))?.message;
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
