/** What a gear can be told when it is made, and the check of it: a typo must not switch anything off. */

import type { Control } from '../core/control.ts';
import * as check from './arguments.ts';
import type { SwitchgearOptions } from './front-door.ts';

const optionNames = [
  'agent',
  'session',
  'policy',
  'store',
  'clock',
  'prices',
  'approver',
  'mode',
  'onRefusal',
  'log',
  'controls',
  'project',
  'env',
];
const portMethods = [
  ['clock', ['nowMs', 'wallMs', 'after']],
  ['store', ['cell', 'drop', 'keys', 'append', 'tail', 'putCard', 'card', 'cards', 'close']],
  ['prices', ['price', 'dearest']],
  ['approver', ['ask']],
] as const;

export function checkSetUp(options: SwitchgearOptions): void {
  check.options('createSwitchgear', options, optionNames);
  if (options.mode !== undefined) check.oneOf('mode', options.mode, ['enforce', 'observe']);
  if (options.onRefusal !== undefined) check.oneOf('onRefusal', options.onRefusal, ['return', 'throw']);
  for (const [port, names] of portMethods) {
    if (options[port] !== undefined) check.methods(port, options[port], names);
  }
  if (options.env !== undefined) check.entries('env', options.env);
  if (options.controls !== undefined) check.list('controls', options.controls).forEach(checkControl);
}

function checkControl(control: unknown): void {
  check.methods('a control', control, ['initial', 'judge', 'apply']);
  const { name, scope } = control as Control;
  check.name('the name of a control', name);
  check.oneOf('the scope of a control', scope, ['task', 'chain', 'target', 'session', 'gear']);
}
