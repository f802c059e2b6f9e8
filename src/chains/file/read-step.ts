/** `steps` of a chain file. */

import { SwitchgearError } from '../../core/error.ts';
import { chainNameMax, chainStepsMax, secsMax } from '../../core/limits.ts';
import { quote } from '../../core/plain-copy.ts';
import type { BreakerSettings } from '../../core/settings.ts';
import { checkBreaker } from '../../policy/check/check-policy.ts';
import type { ChainStep, StepCondition } from './chain.ts';
import { isAlone, ops } from './condition.ts';
import { type Problem, problemAt } from './problem.ts';
import { fieldsOf, itemsOf, plainOf, readTable, type Spot, shown, type TableReader } from './table-reader.ts';
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
/** What an ability may be called: no spaces, no stars, no `{{…}}`. */
export const abilityPattern = '^[\\p{L}\\p{N}_][\\p{L}\\p{N}_.:/@-]*$';
const isAbility = new RegExp(abilityPattern, 'u');

/** The steps, one for each item of the list. Names that stand twice are problems. */
export function readSteps(problems: Problem[], chain: TableReader, params: ReadonlySet<string>): readonly ChainStep[] {
  const items = chain.list('steps', chainStepsMax);
  if (items?.length === 0) chain.wrong('steps', 'must have at least one step, got an empty list');
  const ids = new Map<string, number>();
  const keys = new Map<string, number>();
  return (items ?? []).map((item, index) => {
    const table = readTable(problems, item, stepKeys, ['id', 'ability']);
    if (table === undefined) return { id: '', ability: '', args: {}, idempotent: false };
    const step = readStep(problems, table);
    const same = ids.get(step.id);
    if (same !== undefined) table.wrong('id', `${quote(step.id)} is the id of steps[${same}] too`);
    else if (step.id !== '') ids.set(step.id, index);
    const { outputKey } = step;
    if (outputKey === undefined) return step;
    const other = keys.get(outputKey);
    if (other !== undefined) table.wrong('output_key', `${quote(outputKey)} is the output of steps[${other}] too`);
    else keys.set(outputKey, index);
    if (params.has(outputKey)) table.wrong('output_key', `${quote(outputKey)} is the name of a parameter too`);
    return step;
  });
}

function readStep(problems: Problem[], table: TableReader): ChainStep {
  const ability = table.text('ability', chainNameMax);
  if (ability !== undefined && !isAbility.test(ability))
    table.wrong('ability', `must be one name, as in server.tool, got ${quote(ability)}`);
  const outputKey = table.name('output_key', true);
  const condition = readCondition(problems, table);
  const timeoutSecs = readSecs(table);
  const circuitBreaker = readBreaker(problems, table);
  return {
    id: table.name('id') ?? '',
    ability: ability ?? '',
    args: readArgs(problems, table),
    idempotent: table.flag('idempotent') ?? false,
    ...(outputKey !== undefined && { outputKey }),
    ...(condition !== undefined && { condition }),
    ...(timeoutSecs !== undefined && { timeoutSecs }),
    ...(circuitBreaker !== undefined && { circuitBreaker }),
  };
}

function readArgs(problems: Problem[], step: TableReader): Readonly<Record<string, unknown>> {
  const args = step.at('args');
  if (args === undefined || args.written.kind === 'wrong') return {};
  if (args.written.kind !== 'table') {
    step.wrong('args', `must be a table, got ${shown(args.written)}`);
    return {};
  }
  checkTexts(problems, args);
  return plainOf(args.written) as Readonly<Record<string, unknown>>;
}

/** Every text must be a template that can be filled; keys are none. */
function checkTexts(problems: Problem[], { written, path, place }: Spot): void {
  if (written.kind === 'list') for (const item of itemsOf(written, path)) checkTexts(problems, item);
  if (written.kind === 'table') {
    for (const field of fieldsOf(written, path)) {
      if (field.name.includes('{{'))
        problems.push(problemAt(field.place, field.path, 'is a key with {{: only values are filled in'));
      checkTexts(problems, field);
    }
  }
  if (written.kind !== 'value' || typeof written.value !== 'string') return;
  const { error } = parseTemplate(written.value);
  if (error !== undefined) problems.push(problemAt(place, path, error));
}

function readCondition(problems: Problem[], step: TableReader): StepCondition | undefined {
  const found = step.at('condition');
  const table = found && readTable(problems, found, conditionKeys, ['ref_key', 'op']);
  if (table === undefined) return undefined;
  const refKey = table.text('ref_key', chainNameMax) ?? '';
  if (/[{}\s]/.test(refKey))
    table.wrong('ref_key', `must be an output key or a parameter, as in price, got ${quote(refKey)}`);
  const op = table.word('op', ops);
  const value = table.at('value');
  if (value !== undefined) checkTexts(problems, value);
  if (op === undefined) return undefined;
  if (isAlone(op) && value !== undefined) table.wrong('value', `has no meaning with ${op}: leave it out`);
  if (!isAlone(op) && value === undefined) table.wrong(undefined, `needs value, which ${op} compares with`);
  return { refKey, op, ...(value !== undefined && { value: plainOf(value.written) }) };
}

function readSecs(step: TableReader): number | undefined {
  const found = step.at('timeout_secs');
  if (found === undefined || found.written.kind === 'wrong') return undefined;
  const secs = found.written.kind === 'value' ? found.written.value : undefined;
  if (typeof secs === 'number' && secs > 0 && secs <= secsMax) return secs;
  return step.wrong('timeout_secs', `must be a number above 0, at most ${secsMax}, got ${shown(found.written)}`);
}

/** The settings of the policy's section of that name, as its own checker sees them. */
function readBreaker(problems: Problem[], step: TableReader): Partial<BreakerSettings> | undefined {
  const found = step.at('circuit_breaker');
  if (found === undefined || found.written.kind === 'wrong') return undefined;
  const before = problems.length;
  const check = (value: unknown, { place, path }: Spot): Partial<BreakerSettings> | undefined => {
    try {
      return checkBreaker(value, 'circuit_breaker');
    } catch (error) {
      if (!(error instanceof SwitchgearError)) throw error;
      const what = error.message.replace(/^circuit_breaker(\.\S+)? /, '');
      problems.push(problemAt(place, path, what));
      return undefined;
    }
  };
  if (found.written.kind === 'table')
    for (const field of fieldsOf(found.written, found.path)) check({ [field.name]: plainOf(field.written) }, field);
  return problems.length > before ? undefined : check(plainOf(found.written), found);
}
