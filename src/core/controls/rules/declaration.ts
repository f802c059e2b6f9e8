/** Declares the rules control. The engine binds it: a gear without a policy does not load the rules. */

import type { ControlDeclaration } from '../../declare/control-declaration.ts';
import {
  nextTry,
  type RefusalContext,
  type RefusalTexts,
  ruleTexts,
  stoppedTexts,
} from '../../declare/refusal-texts.ts';
import { choice, type FieldsOf, secs, texts } from '../../declare/setting.ts';
import type { RuleSettings } from '../../settings.ts';

const ruleFields = {
  on_missing: choice(
    'What a threshold rule does when its key is missing: fire, or wait until a step could have written the key.',
    'earlier',
    'fire',
    'pending',
  ),
  lookup: texts('Where rules look for a key, in this order.', ['outputs'], 'default', ['outputs', 'args', 'params']),
  throttle: choice(
    'Whether a throttled action is refused with a retry time (`skip`) or delayed (`delay`).',
    'earlier',
    'skip',
    'delay',
  ),
  max_delay_secs: secs('The longest delay of a throttled action.', 10, 'any'),
  min_interval_secs: secs('Interval between actions throttled by a rule without a frequency.', 60, 'higher'),
} as const satisfies FieldsOf<RuleSettings>;

export const rulesDeclaration = {
  name: 'rules',
  summary: {
    stops: 'a step that a written rule forbids, wants confirmed, or slows down',
    byDefault: 'the calls that your rules name: `amount>500` needs an approval, `ability:shell.*` is forbidden',
    statePer: 'gear',
  },
  section: {
    name: 'rule_settings',
    doc: 'How written rules read values and throttle actions.',
    fields: ruleFields,
  },
  codes: {
    rule_abort: {
      kind: 'halt',
      means: 'a rule forbids it',
      remedy: 'nothing: it is forbidden',
      settings: ['rules'],
      byCall: true,
      texts(context: RefusalContext): RefusalTexts {
        const { name, reason } = context;
        const remediation = 'This is forbidden by a rule. Do not try to get around it.';
        return stoppedTexts(context, reason ?? `a rule forbids '${name}'`, remediation);
      },
    },
    rule_declined: {
      kind: 'deny',
      means: 'a person declined',
      remedy: 'ask what they want instead',
      settings: ['rules'],
      texts(context: RefusalContext): RefusalTexts {
        const remediation = 'Do not call it again. Ask the user what they want instead.';
        return ruleTexts(context, `'${context.name}' was not approved`, remediation);
      },
    },
    rule_unanswered: {
      kind: 'deny',
      means: 'there is no approver, or nobody answered in time',
      remedy: 'ask the user',
      settings: ['rules', 'approval.timeout_secs'],
      texts(context: RefusalContext): RefusalTexts {
        const { name, counters } = context;
        if (counters.approver === 'none') {
          const { message, explanation } = ruleTexts(context, `no approver is available for '${name}'`, '');
          return {
            message,
            remediation: 'Approval is needed, and nobody can be asked here. Do not call it again; tell the user.',
            explanation: `${explanation}; give the gear an approver`,
          };
        }
        const remediation = 'Approval is needed and nobody answered. Ask the user.';
        return ruleTexts(context, `nobody approved '${name}'`, remediation);
      },
    },
    rule_throttled: {
      kind: 'deny',
      means: 'too often',
      remedy: 'try again at `retryAtMs`',
      settings: ['rules', 'rule_settings.throttle'],
      texts(context: RefusalContext): RefusalTexts {
        const { name, counters, reached } = context;
        // Only a count has an actual value; the reason covers other rules.
        const count = counters.actual === undefined ? '' : ` (${reached})`;
        return ruleTexts(context, `'${name}' is limited${count}`, `Try again ${nextTry(context)}.`);
      },
    },
  },
} as const satisfies ControlDeclaration;
