/** Binds controls of the user. An error in `judge` refuses the call; an error elsewhere is counted and ignored. */

import { cellKey } from '../../core/cell-key.ts';
import type { Control } from '../../core/control.ts';
import { controlDeclarations } from '../../core/controls/registry.ts';
import type { ActionProposed } from '../../core/event.ts';
import { quoteValue } from '../../core/quote.ts';
import { requireSync } from '../../core/thenable.ts';
import { allow } from '../../core/verdict.ts';
import { countError } from '../journal/journal.ts';
import { resetCallSites } from '../route/call-site.ts';
import { choices, fn, invalid, methods, name } from '../runtime/option-checks.ts';
import type { BoundCustomControls, ControlHarm, Runtime } from '../runtime/runtime.ts';

const builtInNames: ReadonlySet<string> = new Set([
  ...controlDeclarations.map((declared) => declared.name),
  'operator',
  'guard',
]);

/** Adds a control beside the built-in ones, for calls and tasks that start from now on. */
export function addControl(runtime: Runtime, control: Control): void {
  methods('initial', 'judge', 'apply')('a control', control);
  name('the name of a control', control.name);
  choices('task', 'chain', 'target', 'session', 'gear')('the scope of a control', control.scope);
  for (const method of ['check', 'due', 'hint', 'gauges'] as const)
    if (control[method] !== undefined) fn(`${method} of the control ${quoteValue(control.name)}`, control[method]);
  if (builtInNames.has(control.name))
    throw invalid(`the name of a control must differ from those of the built-in ones, got ${quoteValue(control.name)}`);
  const own = (runtime.own ?? bindCustomControls()) as ReturnType<typeof bindCustomControls>;
  if (own.names.has(control.name))
    throw invalid(`the name of a control must be new to the gear, got ${quoteValue(control.name)}`);
  runtime.own = own;
  own.add(tolerant(runtime, own.harm, control));
  resetCallSites(runtime);
}

/** Binds custom controls to cells of tasks, targets, sessions and the gear. */
function bindCustomControls() {
  const harm: ControlHarm = { error: undefined };
  const controls: Control[] = [];
  const isOfTask = ({ scope }: Control) => scope === 'task' || scope === 'chain';
  const boundControls: Omit<BoundCustomControls, 'harm'> = {
    ofTask: ({ cells }) =>
      controls.filter(isOfTask).map((control) => {
        cells.own ??= {};
        const cell = cells.own[control.name] ?? { state: control.initial(cells.deadline.state.startedAtMs) };
        cells.own[control.name] = cell;
        return { control, cell, cellOwner: 'self' };
      }),
    beside: ({ store }, target, session) =>
      controls
        .filter((control) => !isOfTask(control))
        .map((control) => {
          const { scope } = control;
          const whose = scope === 'target' ? [scope, target.name] : scope === 'session' ? [scope, session] : [];
          const cell = store.cell(cellKey('own', control.name, ...whose), () => control.initial(0));
          return { control, cell, cellOwner: 'self' };
        }),
  };
  const names = new Set<string>();
  const add = (control: Control) => {
    names.add(control.name);
    controls.push(control);
  };
  return { ...boundControls, harm, names, add };
}

/** Wraps a control so that an error in one control does not keep the event from the others. */
function tolerant(runtime: Runtime, harm: ControlHarm, control: Control): Control {
  const guarded = <T>(where: string, instead: T, run: () => T): T => {
    try {
      return requireSync(where, run());
    } catch (error) {
      harm.error = error ?? true;
      countError(runtime, `control ${control.name}: ${where}`, error);
      return instead;
    }
  };
  return {
    name: control.name,
    scope: control.scope,
    initial: (atMs) => control.initial(atMs),
    judge: (state, proposal, cellOwner) =>
      requireSync('judge', control.judge(state, hideOtherApprovals(proposal, control.name), cellOwner)),
    apply: (state, event, cellOwner) => guarded('apply', state, () => control.apply(state, event, cellOwner)),
    check: (state, atMs) => guarded('check', allow, () => control.check?.(state, atMs) ?? allow),
    due: (state, action) => guarded('due', allow, () => control.due?.(state, action) ?? allow),
    gauges: (state, atMs) => guarded('gauges', [], () => control.gauges?.(state, atMs) ?? []),
  };
}

/** The proposal without an approval that was given to another control's question. */
function hideOtherApprovals(proposal: ActionProposed, control: string): ActionProposed {
  const { approvedBy, approvedFor, ...action } = proposal.action;
  if (approvedBy === undefined || approvedFor?.controls === undefined) return proposal;
  return approvedFor.controls.includes(control) ? proposal : { ...proposal, action };
}
