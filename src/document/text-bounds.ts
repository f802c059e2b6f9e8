/** Bounds a text before a parser reads it: the time of a parser grows with values, depth and parts of keys. */

import { documentDepthMax, documentKeyPartsMax, documentMarksMax } from '../core/limits.ts';
import type { SyntaxProblem } from './parsed-document.ts';

/**
 * Finds the place where a text exceeds the bounds of a document. Counts characters, whatever their meaning: brackets,
 * commas and lines for the values, brackets and dashes for the depth, dots of one line for the parts of a key.
 */
export function findBoundsProblem(text: string): SyntaxProblem | undefined {
  let line = 1;
  let lineStart = 0;
  let marks = 0;
  let depth = 0;
  let dots = 0;
  let dashes = 0;
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case 10: // line feed
        marks++;
        line++;
        lineStart = at + 1;
        dots = 0;
        dashes = 0;
        break;
      case 44: // comma
        marks++;
        break;
      case 45: // dash
      case 63: // question mark
        dashes += text.charCodeAt(at + 1) === 32 ? 1 : 0;
        break;
      case 46: // dot
        dots++;
        break;
      case 91: // opening bracket
      case 123: // opening brace
        marks++;
        depth++;
        break;
      case 93: // closing bracket
      case 125: // closing brace
        depth--;
        break;
    }
    const message = describeExcess(marks, Math.max(depth, dashes), dots);
    if (message !== undefined) return { message, position: { line, column: at - lineStart + 1 }, cause: undefined };
  }
  return undefined;
}

function describeExcess(marks: number, depth: number, dots: number): string | undefined {
  if (marks > documentMarksMax) return `it has more than ${documentMarksMax} lines, commas and brackets`;
  if (depth > documentDepthMax) return 'it is nested too deeply';
  if (dots >= documentKeyPartsMax) return `a line has ${documentKeyPartsMax} dots or more: a key has too many parts`;
  return undefined;
}
