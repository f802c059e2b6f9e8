/** Which names a chain uses, where, and whether each of them can mean something there. */

import { chainProblemsMax } from '../../core/limits.ts';
import { nearest } from '../../core/names.ts';
import type { Path } from '../../policy/check/report.ts';
import type { Chain } from './chain.ts';
import { isAlone } from './condition.ts';
import { type Place, type Problem, problemAt } from './problem.ts';
import { namesIn } from './template.ts';

/** One name in one place. */
interface Use {
  readonly name: string;
  readonly path: Path;
  /** The step, counted from 0; rules belong to none. */
  readonly step: number | undefined;
  /** Whether it must mean something when it is looked at; a condition may also ask whether it does. */
  readonly isNeeded: boolean;
}

/** A name that nobody declares. */
export interface Undeclared {
  readonly name: string;
  readonly isNeeded: boolean;
}

/** Names that are neither declared as parameters nor output by a step, each once: a run must be given them. */
export function undeclaredOf(chain: Chain): readonly Undeclared[] {
  const known = new Set([...chain.params.map(({ name }) => name), ...chain.steps.map((step) => step.outputKey)]);
  const found = new Map<string, boolean>();
  for (const { name, isNeeded } of usesOf(chain)) {
    if (!known.has(name) && !name.includes('.')) found.set(name, isNeeded || found.get(name) === true);
  }
  return [...found].map(([name, isNeeded]) => ({ name, isNeeded }));
}

/** Names that cannot mean anything where they stand are problems; those that a run must be given are warnings. */
export function checkNames(chain: Chain, placeOf: (path: Path) => Place): { problems: Problem[]; warnings: Problem[] } {
  const problems: Problem[] = [];
  const warnings = new Map<string, Problem>();
  const params = new Set(chain.params.map(({ name }) => name));
  const outputs = new Map(chain.steps.map((step, index) => [step.outputKey, index]));
  for (const { name, path, step } of usesOf(chain)) {
    const root = name.split('.', 1)[0] ?? '';
    const from = outputs.get(root);
    const problem = params.has(root)
      ? name !== root && `refers to ${name}, but ${root} is a parameter and has no parts`
      : from !== undefined
        ? orderProblem(chain, name, from, step)
        : name !== root && `refers to ${name}, but no step outputs ${root}`;
    if (problem) problems.push(problemAt(placeOf(path), path, problem));
    else if (!params.has(root) && from === undefined && !warnings.has(name) && warnings.size < chainProblemsMax) {
      const near = nearest(
        name,
        [...params, ...outputs.keys()].filter((known) => known !== undefined),
      );
      const hint = near === undefined ? '' : ` (did you mean ${near}?)`;
      const what = `uses ${name}, which is not declared as a parameter: it must be given at run time${hint}`;
      warnings.set(name, problemAt(placeOf(path), path, what));
    }
  }
  return { problems, warnings: [...warnings.values()] };
}

function orderProblem(chain: Chain, name: string, from: number, step: number | undefined): string | false {
  if (step === undefined)
    return `refers to ${name}, an output: rules are filled from parameters, before the first step`;
  if (from < step) return false;
  const whose = from === step ? 'its own output' : `the output of the later step ${chain.steps[from]?.id}`;
  return `refers to ${name}, which is ${whose}`;
}

function usesOf(chain: Chain): readonly Use[] {
  const uses: Use[] = [];
  const add = (value: unknown, path: Path, step?: number): void => {
    if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value))
        add(inner, [...path, Array.isArray(value) ? Number(key) : key], step);
    } else for (const name of namesIn(value)) uses.push({ name, path, step, isNeeded: true });
  };
  chain.rules.forEach(({ condition, reason }, index) => {
    add(condition, ['circuit_breakers', index, 'condition']);
    add(reason, ['circuit_breakers', index, 'reason']);
  });
  chain.steps.forEach(({ args, condition }, index) => {
    add(args, ['steps', index, 'args'], index);
    if (condition === undefined) return;
    const { refKey, op, value } = condition;
    const path = ['steps', index, 'condition'];
    if (refKey !== '') uses.push({ name: refKey, path: [...path, 'ref_key'], step: index, isNeeded: !isAlone(op) });
    add(value, [...path, 'value'], index);
  });
  return uses;
}
