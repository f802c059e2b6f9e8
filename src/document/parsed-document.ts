/** The result of every parser: the values of a document, their positions, and the syntax errors. */

import type { Path } from '../core/names.ts';

/** A place in a document, both counted from 1. */
export interface SourcePosition {
  readonly line: number;
  readonly column: number;
}

/** A syntax error: a sentence without its place, and the place where the parser knows it. */
export interface SyntaxProblem {
  readonly message: string;
  readonly position?: SourcePosition;
  /** The error of the parser. */
  readonly cause: unknown;
}

/** Finds the position of a key or list item, or of its nearest ancestor with a known position. */
export type FindPosition = (path: Path) => SourcePosition | undefined;

/** A document: its value with the positions, or the first syntax error. */
export type ParsedDocument =
  | { readonly ok: true; readonly value: unknown; readonly positionOf: FindPosition }
  | { readonly ok: false; readonly problem: SyntaxProblem };

/** Positions by path. */
export interface PositionMap {
  add(path: Path, position: SourcePosition): void;
  readonly positionOf: FindPosition;
}

/** Creates an empty map of positions; the first position added for a path stays. */
export function createPositionMap(): PositionMap {
  const positions = new Map<string, SourcePosition>();
  return {
    add(path, position) {
      const key = JSON.stringify(path);
      if (!positions.has(key)) positions.set(key, position);
    },
    positionOf(path) {
      for (let length = path.length; length > 0; length--) {
        const position = positions.get(JSON.stringify(path.slice(0, length)));
        if (position !== undefined) return position;
      }
      return undefined;
    },
  };
}
