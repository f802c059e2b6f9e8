/** Lists the names that a chain uses, and checks that each name can have a value at its place. */

import { chainProblemsMax } from '../../core/limits.ts';
import type { Path } from '../../core/names.ts';
import { findNearestName } from '../../core/names.ts';
import type { SourcePosition } from '../../document/parsed-document.ts';
import type { Chain } from './chain.ts';
import { isUnary } from './condition.ts';
import { makeProblem, type Problem } from './problem.ts';
import { collectNames } from './template.ts';

/** A name with its position. */
interface NameUse {
  readonly name: string;
  readonly path: Path;
  /** The index of the step, from 0; undefined for a rule. */
  readonly step: number | undefined;
  /** Whether the name must have a value; a condition may also test whether it has one. */
  readonly isNeeded: boolean;
}

/** A name that is neither a parameter nor an output. */
export interface UndeclaredName {
  readonly name: string;
  readonly isNeeded: boolean;
}

/** Names that are neither parameters nor outputs, without duplicates: the caller of a run must pass their values. */
export function findUndeclaredNames(chain: Chain): readonly UndeclaredName[] {
  const declared = new Set([...chain.params.map(({ name }) => name), ...chain.steps.map((step) => step.outputKey)]);
  const names = new Map<string, boolean>();
  for (const { name, isNeeded } of collectNameUses(chain)) {
    if (!declared.has(name) && !name.includes('.')) names.set(name, isNeeded || names.get(name) === true);
  }
  return [...names].map(([name, isNeeded]) => ({ name, isNeeded }));
}

/** Reports a name without a possible value as a problem, and a name that the caller must pass as a warning. */
export function checkNames(
  chain: Chain,
  positionOf: (path: Path) => SourcePosition,
): { problems: Problem[]; warnings: Problem[] } {
  const problems: Problem[] = [];
  const warnings = new Map<string, Problem>();
  const params = new Set(chain.params.map(({ name }) => name));
  const outputs = new Map(chain.steps.map((step, index) => [step.outputKey, index]));
  for (const { name, path, step } of collectNameUses(chain)) {
    const root = name.split('.', 1)[0] ?? '';
    const producer = outputs.get(root);
    const problem = params.has(root)
      ? name !== root && `refers to ${name}, but ${root} is a parameter and has no parts`
      : producer !== undefined
        ? checkOrder(chain, name, producer, step)
        : name !== root && `refers to ${name}, but no step outputs ${root}`;
    if (problem) problems.push(makeProblem(positionOf(path), path, problem));
    else if (!params.has(root) && producer === undefined && !warnings.has(name) && warnings.size < chainProblemsMax) {
      const near = findNearestName(
        name,
        [...params, ...outputs.keys()].filter((declared) => declared !== undefined),
      );
      const hint = near === undefined ? '' : ` (did you mean ${near}?)`;
      const detail = `uses ${name}, which is not declared as a parameter: it must be given at run time${hint}`;
      warnings.set(name, makeProblem(positionOf(path), path, detail));
    }
  }
  return { problems, warnings: [...warnings.values()] };
}

function checkOrder(chain: Chain, name: string, producer: number, step: number | undefined): string | false {
  if (step === undefined)
    return `refers to ${name}, an output: rules are filled from parameters, before the first step`;
  if (producer < step) return false;
  const whose = producer === step ? 'its own output' : `the output of the later step ${chain.steps[producer]?.id}`;
  return `refers to ${name}, which is ${whose}`;
}

function collectNameUses(chain: Chain): readonly NameUse[] {
  const uses: NameUse[] = [];
  const add = (value: unknown, path: Path, step?: number): void => {
    if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value))
        add(inner, [...path, Array.isArray(value) ? Number(key) : key], step);
    } else for (const name of collectNames(value)) uses.push({ name, path, step, isNeeded: true });
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
    if (refKey !== '') uses.push({ name: refKey, path: [...path, 'ref_key'], step: index, isNeeded: !isUnary(op) });
    add(value, [...path, 'value'], index);
  });
  return uses;
}
