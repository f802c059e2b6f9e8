/** Reads `steps` of a chain file. */

import { SwitchgearError } from '../../core/error.ts';
import { chainNameMax, chainStepsMax, secsMax } from '../../core/limits.ts';
import { describeValue } from '../../core/plain-copy.ts';
import type { BreakerSettings } from '../../core/settings.ts';
import { toPlainData } from '../../document/plain-tree.ts';
import { checkBreaker } from '../../policy/check/check-policy.ts';
import type { ChainStep, StepCondition } from './chain.ts';
import { isUnary, operators } from './condition.ts';
import { makeProblem, type Problem } from './problem.ts';
import { describeNode, type LocatedNode, listFields, listItems, readTable, type TableReader } from './table-reader.ts';
import { parseTemplate } from './template.ts';

const stepKeys: readonly string[] = [
  'id',
  'ability',
  'args',
  'output_key',
  'condition',
  'timeout_secs',
  'idempotent',
  'circuit_breaker',
];
const conditionKeys: readonly string[] = ['ref_key', 'op', 'value'];
/** The pattern of ability names: no spaces, no stars, no `{{…}}`. */
export const abilityPattern = '^[\\p{L}\\p{N}_][\\p{L}\\p{N}_.:/@-]*$';
const abilityRegExp = new RegExp(abilityPattern, 'u');

/** Reads the steps, one for each item of the list. A duplicate name is a problem. */
export function readSteps(problems: Problem[], chain: TableReader, params: ReadonlySet<string>): readonly ChainStep[] {
  const items = chain.list('steps', chainStepsMax);
  if (items?.length === 0) chain.addProblem('steps', 'must have at least one step, got an empty list');
  const ids = new Map<string, number>();
  const keys = new Map<string, number>();
  return (items ?? []).map((item, index) => {
    const table = readTable(problems, item, stepKeys, ['id', 'ability']);
    if (table === undefined) return { id: '', ability: '', args: {}, idempotent: false };
    const step = readStep(problems, table);
    const sameId = ids.get(step.id);
    if (sameId !== undefined) table.addProblem('id', `${describeValue(step.id)} is also the id of steps[${sameId}]`);
    else if (step.id !== '') ids.set(step.id, index);
    const { outputKey } = step;
    if (outputKey === undefined) return step;
    const sameKey = keys.get(outputKey);
    if (sameKey !== undefined)
      table.addProblem('output_key', `${describeValue(outputKey)} is also the output of steps[${sameKey}]`);
    else keys.set(outputKey, index);
    if (params.has(outputKey))
      table.addProblem('output_key', `${describeValue(outputKey)} is also the name of a parameter`);
    return step;
  });
}

function readStep(problems: Problem[], table: TableReader): ChainStep {
  const ability = table.text('ability', chainNameMax);
  if (ability !== undefined && !abilityRegExp.test(ability))
    table.addProblem('ability', `must be one name, as in server.tool, got ${describeValue(ability)}`);
  const outputKey = table.name('output_key', true);
  const condition = readCondition(problems, table);
  const timeoutSecs = readTimeout(table);
  const circuitBreaker = readBreaker(problems, table);
  return {
    id: table.name('id') ?? '',
    ability: ability ?? '',
    args: readArgs(problems, table),
    idempotent: table.boolean('idempotent') ?? false,
    ...(outputKey !== undefined && { outputKey }),
    ...(condition !== undefined && { condition }),
    ...(timeoutSecs !== undefined && { timeoutSecs }),
    ...(circuitBreaker !== undefined && { circuitBreaker }),
  };
}

function readArgs(problems: Problem[], step: TableReader): Readonly<Record<string, unknown>> {
  const args = step.find('args');
  if (args === undefined || args.node.kind === 'invalid') return {};
  if (args.node.kind !== 'table') {
    step.addProblem('args', `must be a table, got ${describeNode(args.node)}`);
    return {};
  }
  checkTemplates(problems, args);
  return toPlainData(args.node) as Readonly<Record<string, unknown>>;
}

/** Checks that every text is a valid template; keys are not templates. */
function checkTemplates(problems: Problem[], { node, path, position }: LocatedNode): void {
  if (node.kind === 'list') for (const item of listItems(node, path)) checkTemplates(problems, item);
  if (node.kind === 'table') {
    for (const field of listFields(node, path)) {
      if (field.name.includes('{{'))
        problems.push(makeProblem(field.position, field.path, 'must not contain {{: only values are filled, not keys'));
      checkTemplates(problems, field);
    }
  }
  if (node.kind !== 'value' || typeof node.value !== 'string') return;
  const { error } = parseTemplate(node.value);
  if (error !== undefined) problems.push(makeProblem(position, path, error));
}

function readCondition(problems: Problem[], step: TableReader): StepCondition | undefined {
  const found = step.find('condition');
  const table = found && readTable(problems, found, conditionKeys, ['ref_key', 'op']);
  if (table === undefined) return undefined;
  const refKey = table.text('ref_key', chainNameMax) ?? '';
  if (/[{}\s]/.test(refKey))
    table.addProblem('ref_key', `must be an output key or a parameter, as in price, got ${describeValue(refKey)}`);
  const op = table.choice('op', operators);
  const value = table.find('value');
  if (value !== undefined) checkTemplates(problems, value);
  if (op === undefined) return undefined;
  if (isUnary(op) && value !== undefined) table.addProblem('value', `has no meaning with ${op}: leave it out`);
  if (!isUnary(op) && value === undefined) table.addProblem(undefined, `needs a value to compare with for ${op}`);
  return { refKey, op, ...(value !== undefined && { value: toPlainData(value.node) }) };
}

function readTimeout(step: TableReader): number | undefined {
  const found = step.find('timeout_secs');
  if (found === undefined || found.node.kind === 'invalid') return undefined;
  const secs = found.node.kind === 'value' ? found.node.value : undefined;
  if (typeof secs === 'number' && secs > 0 && secs <= secsMax) return secs;
  return step.addProblem(
    'timeout_secs',
    `must be a number above 0, at most ${secsMax}, got ${describeNode(found.node)}`,
  );
}

/** Reads `circuit_breaker` of a step, checked as in the policy. */
function readBreaker(problems: Problem[], step: TableReader): Partial<BreakerSettings> | undefined {
  const found = step.find('circuit_breaker');
  if (found === undefined || found.node.kind === 'invalid') return undefined;
  const before = problems.length;
  const check = (value: unknown, { position, path }: LocatedNode): Partial<BreakerSettings> | undefined => {
    try {
      return checkBreaker(value, 'circuit_breaker');
    } catch (error) {
      if (!(error instanceof SwitchgearError)) throw error;
      const what = error.message.replace(/^circuit_breaker(\.\S+)? /, '');
      problems.push(makeProblem(position, path, what));
      return undefined;
    }
  };
  if (found.node.kind === 'table')
    for (const field of listFields(found.node, found.path)) check({ [field.name]: toPlainData(field.node) }, field);
  return problems.length > before ? undefined : check(toPlainData(found.node), found);
}
