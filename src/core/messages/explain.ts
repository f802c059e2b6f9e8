/** A refusal in words: what happened and what to do instead for the model; what happened for the person. */

import type { CardAction } from '../card.ts';
import { shortMessage, userMessage } from '../controls/delegation/messages.ts';
import { moveOn, whatRepeats } from '../controls/loop/messages.ts';
import type { Refusal } from '../refusal.ts';
import type { Code, Stop } from '../verdict.ts';

/** Who and what a refusal is about. */
export interface Subject {
  /** The tool, model or worker. */
  readonly name: string;
  readonly agent: string;
  readonly task?: string;
  readonly atMs: number;
}

interface Words {
  readonly message: string;
  readonly remediation: string;
  readonly explanation: string;
}

/** The refusal that a verdict becomes. Every number in it is the one in force. */
export function explain(stop: Stop, subject: Subject): Refusal {
  const { code, control, kind, counters, retryAtMs } = stop;
  const { name, task } = subject;
  return {
    code,
    control,
    kind: kind === 'halt' ? kind : 'deny',
    counters,
    ...wordsFor(stop, subject),
    name,
    ...(retryAtMs !== undefined && { retryAtMs }),
    ...(task !== undefined && { task }),
  };
}

function wordsFor({ kind, code, counters, reason, retryAtMs }: Stop, { name, atMs }: Subject): Words {
  const { actual = '?', limit = '?', held, hint, worker = name, alternative } = counters;
  const reached = `${actual} of ${limit}`;
  const soon = retryAtMs === undefined ? undefined : `in ${Math.max(0, Math.ceil((retryAtMs - atMs) / 1000))}s`;
  const next = soon ?? 'after a manual reset';

  /** The task is stopped, or one of its actions is refused and it goes on. */
  function stopped(what: string, remediation: string, explanation = what): Words {
    const refused = code === 'delegation_limit' ? 'Delegation refused' : 'Call refused';
    return { message: `${kind === 'halt' ? 'Task stopped' : refused}: ${what}`, remediation, explanation };
  }

  /** A budget is used up; one beyond the task says so itself, and where its store must be asked only the call waits. */
  function overspent(what: string, order: string): Words {
    const rest = soon === undefined ? `${order} Say what you found and what is missing.` : `Try again ${soon}.`;
    return stopped(reason ?? what, rest);
  }

  /** A rule speaks in its own words where it has any. */
  function said(what: string, remediation: string): Words {
    const text = reason === undefined ? what : `${what}: ${reason}`;
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
      return overspent(`tool calls: ${reached}`, 'Call no more tools.');
    case 'token_spend_limit':
      return overspent(`spend: ${dollars(actual)} of ${dollars(limit)}`, 'Make no more calls.');
    case 'token_limit':
      return overspent(`tokens: ${reached}`, 'Make no more calls.');
    case 'duration_limit':
      return stopped(`running for ${actual} s of ${limit} s`, 'Stop now and report how far you got.');
    case 'idle_timeout':
      return stopped(`silent for ${actual} s of ${limit} s`, 'The task was ended because nothing was heard of it.');
    case 'output_loop':
      return stopped(
        `the last ${actual} outputs are alike (similarity ${counters.similarity}, threshold ${counters.threshold})`,
        'You are repeating yourself. Stop, and ask the user how to go on.',
      );
    case 'tool_loop':
      if (counters.evidence !== undefined) return stopped(whatRepeats(counters), moveOn);
      return stopped(
        `'${name}' was proposed unchanged ${actual} times although it was refused (limit ${limit})`,
        'Do not repeat the call. Report what is blocked and ask the user how to go on.',
      );
    case 'denial_limit':
      return stopped(`refused calls in a row: ${reached}`, 'Stop. Tell the user what you were refused and why.');
    case 'delegation_limit': {
      if (counters.depth !== undefined)
        return stopped(
          `'${name}' would be ${counters.depth} levels below the first task (limit ${limit})`,
          'Do the work here, or give it back to the one who sent you.',
        );
      const why = hint === undefined ? undefined : String(hint);
      const instead = alternative === undefined ? '' : ` Try ${alternative} instead.`;
      return stopped(
        `${worker} has failed ${actual} times (limit: ${limit})`,
        `${shortMessage(why)} Do not delegate to ${worker} again.${instead}`,
        userMessage(String(worker), Number(limit), why),
      );
    }
    case 'rule_abort':
      return stopped(reason ?? `a rule forbids '${name}'`, 'This is forbidden by a rule. Do not try to get around it.');
    case 'rule_declined':
      return said(`'${name}' was not approved`, 'Do not call it again. Ask the user what they want instead.');
    case 'rule_unanswered':
      return said(`nobody approved '${name}'`, 'Approval is needed and nobody answered. Ask the user.');
    case 'rule_throttled':
      // Only a count has something to say here; the reason tells the rest.
      return said(`'${name}' is limited${actual === '?' ? '' : ` (${reached})`}`, `Try again ${next}.`);
    case 'storm':
      return {
        message: `Watcher '${name}' paused: ${actual} events (limit ${limit})`,
        remediation: 'It stays paused until someone restarts it by hand.',
        explanation: `${name} paused: ${reached} events in its window; restart it by hand`,
      };
    case 'task_paused':
      return stopped(reason ?? 'paused', 'Wait, and call nothing else until an operator has it go on.');
    case 'internal_error':
      return {
        message: `'${name}' was refused because the safety layer could not decide`,
        remediation: 'Ask the user. This is not the fault of the call.',
        explanation: `internal error while deciding on ${name}: ${reason ?? 'unknown'}`,
      };
  }
}

function dollars(cents: number | string): string {
  return typeof cents === 'number' ? `$${(cents / 100).toFixed(2)}` : cents;
}

/** What a person can do about a halt: try again with raised limits or pause, and narrow the scope of too many calls. */
export function actionsFor(code: Code): readonly CardAction[] {
  return code === 'tool_call_limit' ? ['retry_raised', 'pause', 'narrow_scope'] : ['retry_raised', 'pause'];
}
