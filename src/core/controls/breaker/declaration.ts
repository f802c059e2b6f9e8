/** The breaker, declared. The engine binds it: a breaker has a key of its own and may be shared by a fleet. */

import type { ControlDeclaration } from '../../declare/control-declaration.ts';
import { nextTry, type RefusalContext, type RefusalTexts } from '../../declare/refusal-texts.ts';
import { breakerFields } from './fields.ts';

export const breakerDeclaration = {
  name: 'breaker',
  summary: {
    stops: 'a tool, model or service that keeps failing',
    byDefault: 'calls to a tool that failed 5 times in a row; a probe call is allowed after 60 s',
    statePer: 'what is called',
  },
  section: {
    name: 'circuit_breaker',
    doc: 'When the breaker of a failing tool opens, and when it lets probes through again.',
    fields: breakerFields,
  },
  codes: {
    circuit_open: {
      kind: 'deny',
      means: 'the tool failed too often, or an operator holds the breaker open',
      remedy: 'use another tool until `retryAtMs`; check the tool',
      texts(context: RefusalContext): RefusalTexts {
        const { name, counters, limit } = context;
        const { held, wait_secs: secs, failures } = counters;
        const wait = secs === 'manual' ? 'manual reset' : `${secs ?? '?'}s`;
        return {
          message: `Tool '${name}' circuit breaker open - too many recent failures`,
          remediation: held
            ? 'An operator has paused this tool. Use another way, or ask the user.'
            : `Wait for recovery_timeout (${wait}) or investigate recent tool failures.`,
          explanation: held
            ? `${name} is held open by hand`
            : `${name} keeps failing (${failures} of ${limit}): refused, next try ${nextTry(context)}`,
        };
      },
    },
    concurrency_limit: {
      kind: 'deny',
      means: 'the allowed number of calls is running',
      remedy: 'wait for one to end',
      texts({ name, actual, limit, reached }: RefusalContext): RefusalTexts {
        return {
          message: `Tool '${name}' already runs ${actual} calls at once (limit ${limit})`,
          remediation: 'Wait for a running call to end, then try again.',
          explanation: `${name}: calls at once: ${reached}`,
        };
      },
    },
  },
} as const satisfies ControlDeclaration;
