/** The commands `switchgear halt`, `pause` and `resume`: orders to the tasks of every process on a store. */

import { sanitizeText } from '../../operator/format.ts';
import type { OrderResult, TaskOrder } from '../../operator/orders.ts';
import {
  describeUnknownTask,
  effectsOfOrders,
  giveTaskOrder,
  type TaskOrderResult,
} from '../../operator/task-orders.ts';
import { type Command, exitCodes, readArgs, type Terminal } from '../command.ts';
import { identifyOperator } from '../policy/operator-option.ts';
import { findStoreAddress, withStore } from '../store-option.ts';
import { withStoreVariable } from './inbox-follow-up.ts';
import { parseOrderRequest } from './order-args.ts';

export const haltCommand = createOrderCommand('halt', [
  'halt TASK|--all [--reason T]     end a task, or every task that has begun, in every process on a store',
]);

export const pauseCommand = createOrderCommand('pause', [
  'pause TASK|--all [--reason T]    refuse the calls of a task, or of all, and stop their clocks',
]);

export const resumeCommand = createOrderCommand('resume', [
  'resume TASK|--all                resume a paused task, or all; a run that was paused in the inbox starts again',
]);

function createOrderCommand(order: TaskOrder, usage: readonly string[]): Command {
  return {
    usage,
    run(args, terminal) {
      const options = order === 'resume' ? ['--store'] : ['--store', '--reason'];
      const parsedArgs = readArgs(args, ['--json', '--all'], 1, options);
      const request = parseOrderRequest(parsedArgs, 'TASK');
      return withStore(findStoreAddress(parsedArgs, terminal), async (store) => {
        const operator = await identifyOperator(store, parsedArgs, terminal, effectsOfOrders[order]);
        const result = await giveTaskOrder(store, order, { ...request, ...operator }, true);
        if (result.status === 'to-resume') {
          const { resumeRun } = await import('../run/resume.ts');
          return resumeRun(store, result.run, { action: 'retry' }, withStoreVariable(parsedArgs, terminal));
        }
        if (result.status === 'ended')
          return reportLostRun(request.target!, result, parsedArgs.switches.has('--json'), terminal);
        return reportOrder(order, request.target, result, parsedArgs.switches.has('--json'), terminal);
      });
    },
  };
}

/** Reports the end of processes that a killed supervisor has left. */
function reportLostRun(
  task: string,
  { ended, surviving }: Extract<TaskOrderResult, { readonly status: 'ended' }>,
  asJson: boolean,
  { out, err }: Terminal,
): number {
  if (asJson) out(JSON.stringify({ order: 'halt', target: task, ended, surviving }, null, 2));
  else out(`ended ${ended} processes of the lost run ${sanitizeText(task)}`);
  if (surviving.length === 0) return exitCodes.ok;
  err(`switchgear: these could not be ended: ${surviving.join(', ')}`);
  return exitCodes.error;
}

function reportOrder(
  order: TaskOrder,
  target: string | null,
  result: OrderResult,
  asJson: boolean,
  { out, err }: Terminal,
): number {
  const { acknowledged, silent } = result;
  // `pause --all` also applies to later tasks; a resumed task may have ended meanwhile.
  const isDone = order === 'resume' || (order === 'pause' && target === null);
  // An order for all tasks of a store on which none runs has nothing to do.
  const isIdle = order === 'halt' && target === null && acknowledged.length + silent.length === 0;
  const worked = acknowledged.length > 0 || isDone || isIdle;
  if (asJson) out(JSON.stringify({ order, target, tasks: acknowledged, silent }, null, 2));
  else {
    for (const id of acknowledged) out(`${doneWords[order]} ${sanitizeText(id)}`);
    if (order === 'pause' && target === null) out('New tasks are paused too, until: switchgear resume --all');
    if (order === 'resume' && acknowledged.length === 0)
      out(`removed the pause of ${sanitizeText(target ?? 'all tasks')}`);
    if (isIdle) out('nothing to halt: no task runs on this store');
  }
  if (silent.length > 0) {
    const names = silent.map(sanitizeText).join(', ');
    err(`switchgear: no acknowledgement yet from ${names}; the order stays in force`);
  } else {
    const unknown = describeUnknownTask(order, target, result);
    if (unknown !== undefined) err(`switchgear: ${unknown}`);
  }
  return worked ? exitCodes.ok : exitCodes.error;
}

const doneWords = { halt: 'halted', pause: 'paused', resume: 'resumed' } as const;
