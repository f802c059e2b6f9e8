/** Reads `params` of a chain file. */

import { chainParamsMax } from '../../core/limits.ts';
import type { Param, ParamType } from './chain.ts';
import { parseParam } from './params.ts';
import { makeProblem, type Problem } from './problem.ts';
import { describeNode, type LocatedNode, readTable, type TableReader } from './table-reader.ts';

const paramKeys: readonly string[] = ['name', 'param_type', 'description', 'required', 'default'];
export const paramTypes: Readonly<Record<ParamType, ParamType>> = {
  text: 'text',
  number: 'number',
  boolean: 'boolean',
};

/** Reads the parameters, one for each item of the list. */
export function readParamList(problems: Problem[], chain: TableReader): readonly Param[] {
  const names = new Set<string>();
  return (chain.list('params', chainParamsMax) ?? []).map((item) => {
    const param = readParam(problems, item);
    if (names.has(param.name))
      problems.push(makeProblem(item.position, item.path, `has the name of another parameter: ${param.name}`));
    if (param.name !== '') names.add(param.name);
    return param;
  });
}

function readParam(problems: Problem[], item: LocatedNode): Param {
  const table = readTable(problems, item, paramKeys, ['name']);
  const name = table?.name('name', true) ?? '';
  const type = table?.choice('param_type', paramTypes) ?? 'text';
  const description = table?.text('description');
  const required = table?.boolean('required');
  const initial = table && readDefault(table, type);
  if (required === true && initial !== undefined)
    table?.addProblem('required', 'is true, but the parameter has a default: remove one of the two');
  return {
    name,
    type,
    required: required ?? initial === undefined,
    ...(description !== undefined && { description }),
    ...(initial !== undefined && { default: initial }),
  };
}

function readDefault(table: TableReader, type: ParamType): Param['default'] {
  const found = table.find('default');
  if (found === undefined || found.node.kind === 'invalid') return undefined;
  const value = found.node.kind === 'value' ? parseParam(type, found.node.value) : undefined;
  return value ?? table.addProblem('default', `must be a ${type}, got ${describeNode(found.node)}`);
}
