/** Collects the results of a check: problems with their places, and the origin of each value. */

import { SwitchgearError } from '../../core/error.ts';
import { policyProblemsMax } from '../../core/limits.ts';
import { formatPath, type Path } from '../../core/names.ts';

/** The file of a document, and the lines of its keys. */
export interface PolicySource {
  readonly file?: string;
  /** The line of a key or list item, counted from 1. */
  readonly lineOf?: (path: Path) => number | undefined;
}

/** The origin of a value. */
export type Source =
  | 'default'
  | 'code'
  | `preset ${string}`
  | `file ${string}`
  | `environment ${string}`
  | `option ${string}`;

/** An effective value and its origin. */
export interface Provenance {
  readonly value: unknown;
  readonly source: Source;
  /** The alias under which the value was written, if any. */
  readonly alias?: string;
  readonly line?: number;
  /** The reason for a value that was not written as such. */
  readonly note?: string;
}

/** The problems and origins that a check collects. */
export interface Report {
  readonly problems: string[];
  readonly provenance: Map<string, Provenance>;
  readonly source: Source;
  /** Describes the place of a value for messages. */
  readonly placeOf: (path: Path) => { readonly text: string; readonly line?: number };
}

/** Creates a report on one document. */
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

/** Creates a report on a preset, which has no lines. */
export function createPresetReport(report: Report, name: string): Report {
  return { ...report, source: `preset ${name}`, placeOf: () => ({ text: '' }) };
}

/** Whether a report has all the problems that are shown; further ones are only counted. */
export function isFull({ problems }: Report): boolean {
  return problems.length >= policyProblemsMax;
}

/** Adds a problem: the path, the requirement, and the place. */
export function addProblem(report: Report, path: Path, problem: string): void {
  if (isFull(report)) {
    report.problems.push('');
    return;
  }
  const pathName = formatPath(path);
  const gap = pathName && !/^[.[]/.test(problem) ? ' ' : '';
  report.problems.push(`${pathName || 'the policy '}${gap}${problem}${findPlace(report, path, problem)}`);
}

/** The place of a value, or of its part that the problem begins with: `.deny[1] must be…`. */
function findPlace({ placeOf }: Report, path: Path, problem: string): string {
  const [start = ''] = /^(?:\.[\w-]+|\[\d+\])*/.exec(problem) ?? [];
  const parts = [...start.matchAll(/\.([\w-]+)|\[(\d+)\]/g)].map(([, name, index]) => name ?? Number(index));
  for (let length = parts.length; length > 0; length--) {
    const { text, line } = placeOf([...path, ...parts.slice(0, length)]);
    if (line !== undefined) return text;
  }
  return placeOf(path).text;
}

/** Throws all problems at once, so that one edit can fix the whole file. */
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
