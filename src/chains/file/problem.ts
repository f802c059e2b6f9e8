/** Errors and warnings about a chain file, with their positions. */

import { SwitchgearError } from '../../core/error.ts';
import { chainProblemsMax } from '../../core/limits.ts';
import { formatPath, type Path } from '../../core/names.ts';
import type { SourcePosition } from '../../document/parsed-document.ts';

/** A full sentence about one position; `path` leads to the value, as in `steps[0].condition.op`. */
export interface Problem extends SourcePosition {
  readonly path: string;
  readonly message: string;
}

/** Creates a problem; its message begins with the path. */
export function makeProblem({ line, column }: SourcePosition, path: Path, detail: string): Problem {
  const text = formatPath(path);
  return { line, column, path: text, message: text === '' ? detail : `${text} ${detail}` };
}

/** Sorts problems by position, removes duplicates, and cuts the list at `chainProblemsMax`. */
export function sortProblems(problems: readonly Problem[]): readonly Problem[] {
  const texts = new Set<string>();
  const sorted = [...problems].sort((a, b) => a.line - b.line || a.column - b.column);
  return sorted.filter((problem) => {
    const text = formatProblem(problem, '');
    return !texts.has(text) && texts.add(text).size <= chainProblemsMax;
  });
}

/** Formats a problem as `file:line:column: message`, which editors and terminals can open. */
export function formatProblem({ line, column, message }: Problem, file: string): string {
  return `${file}:${line}:${column}: ${message}`;
}

/** Creates the error that lists all problems of a file. */
export function chainError(file: string, problems: readonly Problem[]): SwitchgearError {
  return new SwitchgearError('invalid_chain', problems.map((problem) => formatProblem(problem, file)).join('\n'));
}
