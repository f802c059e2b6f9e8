/** What a check collects on its way: problems with their places, and where each value came from. */

import { SwitchgearError } from '../../core/error.ts';
import { policyProblemsMax } from '../../core/limits.ts';
import { formatPath } from '../../core/names.ts';

/** The way to a value: keys as they were written, and positions in lists. */
export type Path = readonly (string | number)[];

/** Where a document was read from. */
export interface PolicySource {
  readonly file?: string;
  /** The line of a key or list item, counted from 1. */
  readonly lineOf?: (path: Path) => number | undefined;
}

export type Source = 'default' | 'code' | `preset ${string}` | `file ${string}` | `environment ${string}`;

/** An effective value and who said so. */
export interface Provenance {
  readonly value: unknown;
  readonly source: Source;
  /** The name it was written under, if that is an alias. */
  readonly alias?: string;
  readonly line?: number;
  /** Why, where the value was not written as such. */
  readonly note?: string;
}

export interface Report {
  readonly problems: string[];
  readonly provenance: Map<string, Provenance>;
  readonly source: Source;
  /** Names a value's place in messages. */
  readonly placeOf: (path: Path) => { readonly text: string; readonly line?: number };
}

/** A report on one document. */
export function createReport({ file, lineOf }: PolicySource): Report {
  return {
    problems: [],
    provenance: new Map(),
    source: file === undefined ? 'code' : `file ${file}`,
    placeOf(path) {
      const line = lineOf?.(path);
      if (line !== undefined) return { text: ` (${file ?? 'policy'}, line ${line})`, line };
      return { text: file === undefined ? '' : ` (${file})` };
    },
  };
}

/** The same report while a preset speaks: it has no lines. */
export function createPresetReport(report: Report, name: string): Report {
  return { ...report, source: `preset ${name}`, placeOf: () => ({ text: '' }) };
}

/** Adds a problem: the path, what it must be, and where it stands. */
export function addProblem(report: Report, path: Path, problem: string): void {
  const pathName = formatPath(path);
  const gap = pathName && !problem.startsWith('[') ? ' ' : '';
  report.problems.push(`${pathName || 'the policy '}${gap}${problem}${report.placeOf(path).text}`);
}

/** Throws all problems at once, so that a person mends a file in one go. */
export function throwProblems(problems: readonly string[]): void {
  if (problems.length === 0) return;
  const shownProblems = problems.slice(0, policyProblemsMax);
  const more = problems.length - shownProblems.length;
  const text =
    problems.length === 1
      ? shownProblems[0]
      : `${problems.length} problems in the policy:\n- ${shownProblems.join('\n- ')}`;
  throw new SwitchgearError('invalid_policy', more > 0 ? `${text}\n- and ${more} more` : `${text}`);
}
