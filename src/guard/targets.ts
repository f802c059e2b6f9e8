/** What is called: a tool, model or worker with its settings, and the breaker that its callers share. */

import type { ActionKind } from '../core/action.ts';
import type { BreakerState } from '../core/breaker/state.ts';
import type { Control } from '../core/control.ts';
import type { Holder } from '../core/panel.ts';
import type { BreakerSettings } from '../core/settings.ts';
import type { TaskNode } from './task-node.ts';

/** A name that is called, with what the code around it says. */
export interface Target {
  readonly name: string;
  readonly kind: ActionKind;
  readonly overrides: Partial<BreakerSettings> | undefined;
  readonly healthCheck: (() => boolean | Promise<boolean>) | undefined;
}

/** One breaker: its key, its cell and the settings it runs by. */
export interface BreakerEntry {
  readonly key: string;
  readonly name: string;
  readonly agent: string;
  settings: BreakerSettings;
  readonly cell: Holder<BreakerState>;
  /** Its one place in every panel: a call that is out settles by the settings in force, not by those it began with. */
  readonly seat: BreakerSeat;
  healthCheck: (() => boolean | Promise<boolean>) | undefined;
  nextHealthCheckMs: number;
  /** The number of the health check that is out; 0 = none. */
  checking: number;
  /** The generation a would-be refusal was last reported for. */
  shadowed: number;
}

/** The seat of a breaker; another control sits down when its settings change. */
export interface BreakerSeat {
  control: Control<BreakerState>;
  readonly cell: Holder<BreakerState>;
  readonly place: 'self';
}

/** Who calls it, for the key of the breaker. */
export interface Caller {
  readonly project: string;
  readonly agent: string;
  readonly session: string;
  readonly task: TaskNode | undefined;
}

/** The key of the breaker that a call shares with others: by its scope, and models by themselves. */
export function breakerKey(target: Target, settings: BreakerSettings, caller: Caller): string {
  const name = encodeURIComponent(target.name);
  if (target.kind === 'model') return `breaker/shared/model/${name}`;
  const project = encodeURIComponent(caller.project);
  switch (settings.scope) {
    case 'shared':
      return `breaker/shared/tool/${name}`;
    case 'project':
      return `breaker/${project}/tool/${name}`;
    case 'agent':
      return `breaker/${project}/agent/${encodeURIComponent(caller.agent)}/${name}`;
    case 'session':
      return `breaker/${project}/session/${encodeURIComponent(caller.session)}/${name}`;
    case 'task':
      return `breaker/${project}/task/${encodeURIComponent(caller.task?.id ?? caller.session)}/${name}`;
  }
}
