/** A refusal in words: what happened and what to do instead for the model; what happened for the person. */

import type { CardAction } from './card.ts';
import { shortMessage, userMessage } from './delegation-messages.ts';
import { moveOn, whatRepeats } from './loop/words.ts';
import type { Refusal } from './refusal.ts';
import type { Code, Stop } from './verdict.ts';

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
  const words = wordsFor(stop, subject);
  return {
    code: stop.code,
    control: stop.control,
    kind: stop.kind === 'halt' ? 'halt' : 'deny',
    counters: stop.counters,
    ...words,
    name: subject.name,
    ...(stop.retryAtMs === undefined ? {} : { retryAtMs: stop.retryAtMs }),
    ...(subject.task === undefined ? {} : { task: subject.task }),
  };
}

function wordsFor(stop: Stop, subject: Subject): Words {
  const { counters } = stop;
  const { name } = subject;
  const actual = counters.actual ?? '?';
  const limit = counters.limit ?? '?';
  const waitSecs = stop.retryAtMs === undefined ? undefined : secondsUntil(stop.retryAtMs, subject.atMs);
  switch (stop.code) {
    case 'circuit_open': {
      const wait = waitText(counters.wait_secs);
      return {
        message: `Tool '${name}' circuit breaker open - too many recent failures`,
        remediation: counters.held
          ? 'An operator has paused this tool. Use another way, or ask the user.'
          : `Wait for recovery_timeout (${wait}) or investigate recent tool failures.`,
        explanation: counters.held
          ? `${name} is held open by hand`
          : `${name} keeps failing (${counters.failures} of ${limit}): refused, next try ${nextTry(waitSecs)}`,
      };
    }
    case 'concurrency_limit':
      return {
        message: `Tool '${name}' already runs ${actual} calls at once (limit ${limit})`,
        remediation: 'Wait for a running call to end, then try again.',
        explanation: `${name}: calls at once: ${actual} of ${limit}`,
      };
    case 'tool_call_limit':
      return overspent(stop, `tool calls: ${actual} of ${limit}`, 'Call no more tools.', waitSecs);
    case 'token_spend_limit':
      return overspent(stop, `spend: ${dollars(actual)} of ${dollars(limit)}`, 'Make no more calls.', waitSecs);
    case 'token_limit':
      return overspent(stop, `tokens: ${actual} of ${limit}`, 'Make no more calls.', waitSecs);
    case 'duration_limit':
      return halted(`running for ${actual} s of ${limit} s`, 'Stop now and report how far you got.');
    case 'idle_timeout':
      return halted(`silent for ${actual} s of ${limit} s`, 'The task was ended because nothing was heard of it.');
    case 'output_loop':
      return halted(
        `the last ${actual} outputs are alike (similarity ${counters.similarity}, threshold ${counters.threshold})`,
        'You are repeating yourself. Stop, and ask the user how to go on.',
      );
    case 'tool_loop': {
      if (counters.evidence !== undefined)
        return (stop.kind === 'halt' ? halted : refusedCall)(whatRepeats(counters), moveOn);
      return halted(
        `'${name}' was proposed unchanged ${actual} times although it was refused (limit ${limit})`,
        'Do not repeat the call. Report what is blocked and ask the user how to go on.',
      );
    }
    case 'denial_limit':
      return halted(
        `refused calls in a row: ${actual} of ${limit}`,
        'Stop. Tell the user what you were refused and why.',
      );
    case 'delegation_limit': {
      if (counters.depth !== undefined) {
        const what = `'${name}' would be ${counters.depth} levels below the first task (limit ${limit})`;
        return denied(what, 'Do the work here, or give it back to the one who sent you.');
      }
      const worker = String(counters.worker ?? name);
      const hint = counters.hint === undefined ? undefined : String(counters.hint);
      const instead = counters.alternative === undefined ? '' : ` Try ${counters.alternative} instead.`;
      return (stop.kind === 'halt' ? halted : denied)(
        `${worker} has failed ${actual} times (limit: ${limit})`,
        `${shortMessage(hint)} Do not delegate to ${worker} again.${instead}`,
        userMessage(worker, Number(limit), hint),
      );
    }
    case 'rule_abort':
      return halted(
        stop.reason ?? `a rule forbids '${name}'`,
        'This is forbidden by a rule. Do not try to get around it.',
      );
    case 'rule_declined':
      return said(stop, `'${name}' was not approved`, 'Do not call it again. Ask the user what they want instead.');
    case 'rule_unanswered':
      return said(stop, `nobody approved '${name}'`, 'Approval is needed and nobody answered. Ask the user.');
    case 'rule_throttled':
      // Only a count has something to say here; the reason tells the rest.
      return said(
        stop,
        `'${name}' is limited${stop.counters.actual === undefined ? '' : ` (${actual} of ${limit})`}`,
        `Try again ${nextTry(waitSecs)}.`,
      );
    case 'storm':
      return {
        message: `Watcher '${name}' paused: ${actual} events (limit ${limit})`,
        remediation: 'It stays paused until someone restarts it by hand.',
        explanation: `${name} paused: ${actual} of ${limit} events in its window; restart it by hand`,
      };
    case 'task_paused':
      return refusedCall(stop.reason ?? 'paused', 'Wait, and call nothing else until an operator has it go on.');
    case 'internal_error':
      return {
        message: `'${name}' was refused because the safety layer could not decide`,
        remediation: 'Ask the user. This is not the fault of the call.',
        explanation: `internal error while deciding on ${name}: ${stop.reason ?? 'unknown'}`,
      };
  }
}

function halted(what: string, remediation: string, explanation = what): Words {
  return { message: `Task stopped: ${what}`, remediation, explanation };
}

/** A budget is used up; one beyond the task says so itself, and where its store must be asked only the call waits. */
function overspent({ kind, reason }: Stop, what: string, order: string, waitSecs: number | undefined): Words {
  const rest =
    waitSecs === undefined ? `${order} Say what you found and what is missing.` : `Try again in ${waitSecs}s.`;
  return (kind === 'halt' ? halted : refusedCall)(reason ?? what, rest);
}

function refusedCall(what: string, remediation: string): Words {
  return { message: `Call refused: ${what}`, remediation, explanation: what };
}

/** One action is refused and its task goes on. */
function denied(what: string, remediation: string, explanation = what): Words {
  return { message: `Delegation refused: ${what}`, remediation, explanation };
}

/** A rule speaks in its own words where it has any. */
function said(stop: Stop, what: string, remediation: string): Words {
  const text = stop.reason === undefined ? what : `${what}: ${stop.reason}`;
  return { message: text.charAt(0).toUpperCase() + text.slice(1), remediation, explanation: text };
}

function waitText(wait: number | string | undefined): string {
  return wait === 'manual' ? 'manual reset' : `${wait ?? '?'}s`;
}

function nextTry(seconds: number | undefined): string {
  return seconds === undefined ? 'after a manual reset' : `in ${seconds}s`;
}

function secondsUntil(thenMs: number, nowMs: number): number {
  return Math.max(0, Math.ceil((thenMs - nowMs) / 1000));
}

function dollars(cents: number | string): string {
  return typeof cents === 'number' ? `$${(cents / 100).toFixed(2)}` : cents;
}

/** What a person can do about a halt: try again with raised limits or pause, and narrow the scope of too many calls. */
export function actionsFor(code: Code): readonly CardAction[] {
  return code === 'tool_call_limit' ? ['retry_raised', 'pause', 'narrow_scope'] : ['retry_raised', 'pause'];
}
