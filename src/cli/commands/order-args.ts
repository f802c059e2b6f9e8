/** Reads the arguments that the commands for orders share: TARGET, --all and --reason. */

import { reasonLengthMax } from '../../core/limits.ts';
import type { OrderRequest } from '../../operator/orders.ts';
import { type ParsedArgs, usageError } from '../command.ts';

/** Reads the target, or null for `--all`, and the reason. */
export function parseOrderRequest(parsedArgs: ParsedArgs, argument: 'TASK' | 'TOOL'): Omit<OrderRequest, 'by'> {
  return { target: parseTarget(parsedArgs, argument), reason: parseOrderReason(parsedArgs) };
}

function parseTarget({ positionals, switches }: ParsedArgs, argument: string): string | null {
  const [target] = positionals;
  if (switches.has('--all')) {
    if (target !== undefined) throw usageError(`expected ${argument} or --all, got both`);
    return null;
  }
  if (target === undefined || target === '') throw usageError(`missing argument ${argument} or --all`);
  return target;
}

/** Reads `--reason`, cut to the longest reason that the journal keeps. */
export function parseOrderReason({ values }: ParsedArgs): string {
  return (values.get('--reason') ?? '').slice(0, reasonLengthMax);
}
