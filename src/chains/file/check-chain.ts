/** Checks a chain from code as a file is checked: by the same reader, with the same messages and without a place. */

import { SwitchgearError } from '../../core/error.ts';
import { toSnakeCase } from '../../core/names.ts';
import { describeValue, isPlainObject } from '../../core/plain-copy.ts';
import { readPlainValue } from '../../document/plain-tree.ts';
import type { Chain } from './chain.ts';
import { chainTreeLimits } from './chain-document.ts';
import { makeProblem, type Problem, sortProblems } from './problem.ts';
import { readChainTree } from './read-chain.ts';

type Fields = Readonly<Record<string, unknown>>;

const start = { line: 1, column: 1 };

/** Returns the chain as its file would be read. Throws `invalid_chain` with every problem, one a line. */
export function checkChain(chain: unknown): Chain {
  const { tree, problems: treeProblems } = readPlainValue(writeSafely(chain), chainTreeLimits);
  const problems: Problem[] = treeProblems.map(({ path, detail }) => makeProblem(start, path, detail));
  const checked = readChainTree(problems, tree, () => start).chain;
  if (checked !== undefined) return checked;
  throw chainError(
    sortProblems(problems)
      .map(({ message }) => message)
      .join('\n'),
  );
}

function chainError(message: string): SwitchgearError {
  return new SwitchgearError('invalid_chain', message);
}

function writeSafely(chain: unknown): unknown {
  try {
    if (isFields(chain)) return writeChain(chain);
  } catch {
    throw chainError('the chain cannot be read'); // A getter threw.
  }
  throw chainError(`the chain must be an object, as loadChain returns it, got ${describeValue(chain)}`);
}

/** A chain under the names of a file. A part of another shape stays as it is, for the reader to refuse. */
function writeChain({ ruleSettings, rules, ...rest }: Fields): unknown {
  const fields = rename(rest, { steps: writeList(writeStep), params: writeList(writeParam) });
  const written = rules === undefined ? fields : { ...fields, circuit_breakers: writeList(writeRule)(rules) };
  if (ruleSettings === undefined) return written;
  // In a file the settings of rules are keys of the chain. A key that the chain has itself must not be replaced.
  const settings = isFields(ruleSettings) ? rename(ruleSettings) : undefined;
  const isFree = settings !== undefined && Object.keys(settings).every((name) => !Object.hasOwn(written, name));
  return isFree ? { ...written, ...settings } : { ...written, ruleSettings };
}

type Write = (value: unknown) => unknown;

function writeStep(step: unknown): unknown {
  return isFields(step) ? rename(step, { condition: writeCondition, circuitBreaker: writeBreaker }) : step;
}

function writeCondition(condition: unknown): unknown {
  return isFields(condition) ? rename(condition) : condition;
}

/** A setting that is undefined is off, which a file says as "none". */
function writeBreaker(breaker: unknown): unknown {
  if (!isFields(breaker)) return breaker;
  return Object.fromEntries(
    Object.entries(breaker).map(([name, value]) => [name, value === undefined ? 'none' : value]),
  );
}

function writeParam(param: unknown): unknown {
  if (!isFields(param) || param.type === undefined) return param;
  const { type, ...rest } = param;
  return { ...rest, param_type: type };
}

/** A rule of a chain is for this chain alone, so a file has no target. */
function writeRule(rule: unknown): unknown {
  if (!isFields(rule) || typeof rule.target !== 'string') return rule;
  const { target: _, ...rest } = rule;
  return rest;
}

function writeList(write: Write): Write {
  return (value) => (Array.isArray(value) ? Array.from(value, write) : value);
}

/** The fields under their names in files, each written by its function. */
function rename(fields: Fields, writers: Readonly<Record<string, Write>> = {}): Fields {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => {
      const fileName = toSnakeCase(name);
      const isTwice = fileName !== name && Object.hasOwn(fields, fileName); // The reader refuses the name of code.
      return [isTwice ? name : fileName, Object.hasOwn(writers, name) ? writers[name]!(value) : value];
    }),
  );
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && isPlainObject(value);
}
