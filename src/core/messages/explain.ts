/** Explains a refusal in text: cause and advice for the model, cause for the person. */

import type { CardAction } from '../card.ts';
import { shortMessage, userMessage } from '../controls/delegation/messages.ts';
import { describeRepeat, moveOnAdvice } from '../controls/loop/messages.ts';
import { formatCents } from '../quote.ts';
import type { Refusal } from '../refusal.ts';
import type { Code, Stop } from '../verdict.ts';

/** The subject of a refusal. */
export interface RefusalSubject {
  /** The tool, model or worker. */
  readonly name: string;
  readonly agent: string;
  readonly task?: string;
  readonly atMs: number;
}

interface RefusalTexts {
  readonly message: string;
  readonly remediation: string;
  readonly explanation: string;
}

/** Converts a stop to a refusal. Every number is the effective one. */
export function explain(stop: Stop, subject: RefusalSubject): Refusal {
  const { code, control, kind, counters, retryAtMs } = stop;
  const { name, task } = subject;
  return {
    code,
    control,
    kind: kind === 'halt' ? kind : 'deny',
    counters,
    ...makeRefusalTexts(stop, subject),
    name,
    ...(retryAtMs !== undefined && { retryAtMs }),
    ...(task !== undefined && { task }),
  };
}

function makeRefusalTexts(
  { kind, code, counters, reason, retryAtMs }: Stop,
  { name, atMs }: RefusalSubject,
): RefusalTexts {
  const { actual = '?', limit = '?', held, hint, worker = name, alternative } = counters;
  const reached = `${actual} of ${limit}`;
  const soon = retryAtMs === undefined ? undefined : `in ${Math.max(0, Math.ceil((retryAtMs - atMs) / 1000))}s`;
  const next = soon ?? 'after a manual reset';

  /** Texts for a halted task, or for a refused action whose task continues. */
  function stoppedTexts(summary: string, remediation: string, explanation = summary): RefusalTexts {
    const refused = code === 'delegation_limit' ? 'Delegation refused' : 'Call refused';
    return { message: `${kind === 'halt' ? 'Task stopped' : refused}: ${summary}`, remediation, explanation };
  }

  /** Texts for a used-up budget; a joint budget names itself, and with a store to ask only the call waits. */
  function overBudgetTexts(summary: string, order: string): RefusalTexts {
    const rest = soon === undefined ? `${order} Say what you found and what is missing.` : `Try again ${soon}.`;
    return stoppedTexts(reason ?? summary, rest);
  }

  /** A rule's own reason, if it has one. */
  function fromRule(summary: string, remediation: string): RefusalTexts {
    const text = reason === undefined ? summary : `${summary}: ${reason}`;
    return { message: text.charAt(0).toUpperCase() + text.slice(1), remediation, explanation: text };
  }

  switch (code) {
    case 'circuit_open': {
      const wait = counters.wait_secs === 'manual' ? 'manual reset' : `${counters.wait_secs ?? '?'}s`;
      return {
        message: `Tool '${name}' circuit breaker open - too many recent failures`,
        remediation: held
          ? 'An operator has paused this tool. Use another way, or ask the user.'
          : `Wait for recovery_timeout (${wait}) or investigate recent tool failures.`,
        explanation: held
          ? `${name} is held open by hand`
          : `${name} keeps failing (${counters.failures} of ${limit}): refused, next try ${next}`,
      };
    }
    case 'concurrency_limit':
      return {
        message: `Tool '${name}' already runs ${actual} calls at once (limit ${limit})`,
        remediation: 'Wait for a running call to end, then try again.',
        explanation: `${name}: calls at once: ${reached}`,
      };
    case 'tool_call_limit':
      return overBudgetTexts(`tool calls: ${reached}`, 'Call no more tools.');
    case 'token_spend_limit':
      return overBudgetTexts(`spend: ${dollars(actual)} of ${dollars(limit)}`, 'Make no more calls.');
    case 'token_limit':
      return overBudgetTexts(`tokens: ${reached}`, 'Make no more calls.');
    case 'duration_limit':
      return stoppedTexts(`running for ${actual} s of ${limit} s`, 'Stop now and report how far you got.');
    case 'idle_timeout':
      return stoppedTexts(
        `silent for ${actual} s of ${limit} s`,
        'The task was ended because nothing was heard of it.',
      );
    case 'output_loop':
      return stoppedTexts(
        `the last ${actual} outputs are alike (similarity ${counters.similarity}, threshold ${counters.threshold})`,
        'You are repeating yourself. Stop, and ask the user how to go on.',
      );
    case 'tool_loop':
      if (counters.evidence !== undefined) return stoppedTexts(describeRepeat(counters), moveOnAdvice);
      return stoppedTexts(
        `'${name}' was proposed unchanged ${actual} times although it was refused (limit ${limit})`,
        'Do not repeat the call. Report what is blocked and ask the user how to go on.',
      );
    case 'denial_limit':
      return stoppedTexts(`refused calls in a row: ${reached}`, 'Stop. Tell the user what you were refused and why.');
    case 'delegation_limit': {
      if (counters.depth !== undefined)
        return stoppedTexts(
          `'${name}' would be ${counters.depth} levels below the first task (limit ${limit})`,
          'Do the work here, or give it back to the one who sent you.',
        );
      const why = hint === undefined ? undefined : String(hint);
      const instead = alternative === undefined ? '' : ` Try ${alternative} instead.`;
      return stoppedTexts(
        `${worker} has failed ${actual} times (limit: ${limit})`,
        `${shortMessage(why)} Do not delegate to ${worker} again.${instead}`,
        userMessage(String(worker), Number(limit), why),
      );
    }
    case 'rule_abort':
      return stoppedTexts(
        reason ?? `a rule forbids '${name}'`,
        'This is forbidden by a rule. Do not try to get around it.',
      );
    case 'rule_declined':
      return fromRule(`'${name}' was not approved`, 'Do not call it again. Ask the user what they want instead.');
    case 'rule_unanswered':
      return fromRule(`nobody approved '${name}'`, 'Approval is needed and nobody answered. Ask the user.');
    case 'rule_throttled':
      // Only a count has an actual value; the reason covers other rules.
      return fromRule(`'${name}' is limited${actual === '?' ? '' : ` (${reached})`}`, `Try again ${next}.`);
    case 'storm':
      return {
        message: `Watcher '${name}' paused: ${actual} events (limit ${limit})`,
        remediation: 'It stays paused until someone restarts it by hand.',
        explanation: `${name} paused: ${reached} events in its window; restart it by hand`,
      };
    case 'task_paused':
      return stoppedTexts(reason ?? 'paused', 'Wait, and call nothing else until an operator has it go on.');
    case 'internal_error':
      return {
        message: `'${name}' was refused because the safety layer could not decide`,
        remediation: 'Ask the user. This is not the fault of the call.',
        explanation: `internal error while deciding on ${name}: ${reason ?? 'unknown'}`,
      };
  }
}

function dollars(cents: number | string): string {
  return typeof cents === 'number' ? formatCents(cents) : cents;
}

/** The actions of a person on a halt: retry with raised limits, pause, and for too many calls a narrower scope. */
export function listCardActions(code: Code): readonly CardAction[] {
  return code === 'tool_call_limit' ? ['retry_raised', 'pause', 'narrow_scope'] : ['retry_raised', 'pause'];
}
