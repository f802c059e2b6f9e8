/** Errors and warnings about a chain file, with their positions. */

import { SwitchgearError } from '../../core/error.ts';
import { chainProblemsMax } from '../../core/limits.ts';
import { formatPath, type Path } from '../../core/names.ts';
import type { SourcePosition } from '../../document/parsed-document.ts';

/** A whole sentence about one place; `path` is the way to it, as in `steps[0].condition.op`. */
export interface Problem extends SourcePosition {
  readonly path: string;
  readonly message: string;
}

/** A problem; its message begins with the path. */
export function makeProblem({ line, column }: SourcePosition, path: Path, detail: string): Problem {
  const text = formatPath(path);
  return { line, column, path: text, message: text === '' ? detail : `${text} ${detail}` };
}

/** Problems in the order of their places, each once, as many as a person wants to read. */
export function sortProblems(problems: readonly Problem[]): readonly Problem[] {
  const texts = new Set<string>();
  const sorted = [...problems].sort((a, b) => a.line - b.line || a.column - b.column);
  return sorted.filter((problem) => {
    const text = formatProblem(problem, '');
    return !texts.has(text) && texts.add(text).size <= chainProblemsMax;
  });
}

/** `file:line:column: message`, as editors and terminals read it. */
export function formatProblem({ line, column, message }: Problem, file: string): string {
  return `${file}:${line}:${column}: ${message}`;
}

/** The error that tells all problems of a file at once. */
export function chainError(file: string, problems: readonly Problem[]): SwitchgearError {
  return new SwitchgearError('invalid_chain', problems.map((problem) => formatProblem(problem, file)).join('\n'));
}
