/** Declares the delegation control. The engine binds it: its count may be shared between processes. */

import type { ControlDeclaration } from '../../declare/control-declaration.ts';
import { type RefusalContext, type RefusalTexts, stoppedTexts } from '../../declare/refusal-texts.ts';
import { choice, type FieldsOf, flag, map, secs, wholeNumber } from '../../declare/setting.ts';
import { taskDepthMax } from '../../limits.ts';
import type { BaseSettings, DelegationSettings } from '../../settings.ts';
import type { Counters } from '../../verdict.ts';
import { catchAllTypeOf, workerLimit } from './delegation.ts';
import { shortMessage, userMessage } from './messages.ts';

const delegationFields = {
  max_failures: wholeNumber('Failures of one worker in a session at which the worker trips.', 2, 'lower'),
  worker_limits: map('Other limits for single workers or tools, by name.', 'counts', { lowerThan: 'max_failures' }),
  on_trip: choice('`deny` refuses this worker only; `halt` ends the root task.', 'later', 'deny', 'halt'),
  on_failure: choice('`end` halts on the first failure.', 'later', 'retry', 'end'),
  reset_after_secs: secs('Failures are cleared when the last one is older than this.', undefined, 'higher'),
  backoff: flag('Wait 2, 4, 8 ... seconds before the next delegation to a worker that failed.', false, true),
  tools: flag('Whether plain tools count as workers, too.', false, true),
  phrases: flag("Whether a worker's text is searched for phrases of inability.", true, true),
  phrase_match: choice(
    '`reported` counts an inability that a worker reports of itself, without a success; `anywhere` counts the words.',
    'later',
    'reported',
    'anywhere',
  ),
  alternatives: map('Workers to suggest instead of a tripped one, by name.', 'names', 'any'),
  max_depth: wholeNumber('Depth of delegations below the root.', 5, 'lower', { max: taskDepthMax, optional: true }),
} as const satisfies FieldsOf<DelegationSettings>;

export const delegationDeclaration = {
  name: 'delegation',
  summary: {
    stops: 'a supervisor that keeps sending work to a worker that cannot do it',
    byDefault: 'a third delegation to a worker that failed twice',
    statePer: 'session and worker',
  },
  section: {
    name: 'delegation',
    doc: 'How often work may be delegated to a worker that fails.',
    fields: delegationFields,
  },
  codes: {
    delegation_limit: {
      kind: 'deny, or halt with `on_trip = "halt"`',
      means: 'the worker failed too often, or teams nest too deep',
      remedy: 'another worker, or none',
      settings: ['delegation.max_failures', 'delegation.worker_limits', 'delegation.max_depth'],
      isExceeded(actual: number, { delegation }: BaseSettings, { worker }: Counters): boolean {
        return delegation.onFailure === 'end' || actual >= workerLimit(delegation, String(worker));
      },
      texts(context: RefusalContext): RefusalTexts {
        const { name, counters, actual, limit } = context;
        const { depth, hint, worker: counted = name, alternative } = counters;
        const type = catchAllTypeOf(String(counted));
        const worker = type ?? counted;
        if (depth !== undefined)
          return stoppedTexts(
            context,
            `'${name}' would be ${depth} levels below the first task (limit ${limit})`,
            'Do the work here, or give it back to the one who sent you.',
            undefined,
            'Delegation refused',
          );
        const why = hint === undefined ? undefined : String(hint);
        const instead = alternative === undefined ? '' : ` Try ${alternative} instead.`;
        return stoppedTexts(
          context,
          `${worker} has failed ${actual} times${type === undefined ? '' : ' with any prompt'} (limit: ${limit})`,
          `${shortMessage(why)} Do not delegate to ${worker} again.${instead}`,
          userMessage(String(worker), Number(limit), why),
          'Delegation refused',
        );
      },
    },
  },
} as const satisfies ControlDeclaration;
