/** `params` of a chain file. */

import { chainParamsMax } from '../../core/limits.ts';
import type { Param, ParamType } from './chain.ts';
import { typedValue } from './params.ts';
import { type Problem, problemAt } from './problem.ts';
import { readTable, type Spot, shown, type TableReader } from './table-reader.ts';

const paramKeys: readonly string[] = ['name', 'param_type', 'description', 'required', 'default'];
export const paramTypes: Readonly<Record<ParamType, ParamType>> = {
  text: 'text',
  number: 'number',
  boolean: 'boolean',
};

/** The parameters, one for each item of the list. */
export function readParamList(problems: Problem[], chain: TableReader): readonly Param[] {
  const seen = new Set<string>();
  return (chain.list('params', chainParamsMax) ?? []).map((item) => {
    const param = readParam(problems, item);
    if (seen.has(param.name))
      problems.push(problemAt(item.place, item.path, `has the name of another parameter: ${param.name}`));
    if (param.name !== '') seen.add(param.name);
    return param;
  });
}

function readParam(problems: Problem[], item: Spot): Param {
  const table = readTable(problems, item, paramKeys, ['name']);
  const name = table?.name('name', true) ?? '';
  const type = table?.word('param_type', paramTypes) ?? 'text';
  const description = table?.text('description');
  const required = table?.flag('required');
  const initial = table && defaultOf(table, type);
  if (required === true && initial !== undefined)
    table?.wrong('required', 'is true, but there is a default: keep one of them');
  return {
    name,
    type,
    required: required ?? initial === undefined,
    ...(description !== undefined && { description }),
    ...(initial !== undefined && { default: initial }),
  };
}

function defaultOf(table: TableReader, type: ParamType): Param['default'] {
  const found = table.at('default');
  if (found === undefined || found.written.kind === 'wrong') return undefined;
  const value = found.written.kind === 'value' ? typedValue(type, found.written.value) : undefined;
  return value ?? table.wrong('default', `must be a ${type}, got ${shown(found.written)}`);
}
