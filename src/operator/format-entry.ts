/** One entry of the journal as one line for a person. */

import type { Entry, EntryType } from '../core/event.ts';
import type { Stop } from '../core/verdict.ts';
import { formatCount, formatTimeSpan, type Paint, type Style, sanitizeText } from './format.ts';

const typeWidth = 19;

export function formatEntry(entry: Entry, paint: Paint): string {
  const time = new Date(entry.wallMs).toTimeString().slice(0, 8);
  const words = sanitizeText(describeEntry(entry) ?? ''); // A newer Switchgear may write what this one cannot read.
  const task = entry.task === undefined ? '' : paint(`${words && '  '}${sanitizeText(entry.task)}`, 'dim');
  const type = paint(entry.type.padEnd(typeWidth), styles[entry.type] ?? 'dim');
  return `${paint(time, 'dim')}  ${type}  ${words}${task}`.trimEnd();
}

const styles: { readonly [type in EntryType]?: Style } = {
  'task-halted': 'red',
  'action-refused': 'red',
  'breaker-opened': 'red',
  'breaker-held': 'red',
  'storm-tripped': 'red',
  'store-degraded': 'red',
  'internal-error': 'red',
  'failure-counted': 'yellow',
  'breaker-half-opened': 'yellow',
  'loop-suspected': 'yellow',
  notice: 'yellow',
  'action-waited': 'yellow',
  'action-asked': 'yellow',
  'task-stopped': 'yellow',
  'breaker-closed': 'green',
  'breaker-reset': 'green',
  'breaker-released': 'green',
  'store-recovered': 'green',
  'task-resumed': 'green',
  'order-given': 'cyan',
};

function describeEntry(entry: Entry): string | undefined {
  switch (entry.type) {
    case 'task-started': {
      const { maxToolCalls, maxSpendCents, maxDurationSecs } = entry.limits;
      const duration = formatTimeSpan(maxDurationSecs * 1000);
      const limits = `at most ${maxToolCalls} calls, $${maxSpendCents / 100}, ${duration}`;
      return `${entry.agent ?? 'an agent'}: ${limits}`;
    }
    case 'task-ended':
      return entry.how;
    case 'task-halted':
      return `${entry.enforced ? '' : 'would have been halted: '}${entry.message}`;
    case 'action-refused': {
      const { action, message, enforced } = entry;
      const name = message.includes(`'${action.name}'`) ? '' : `${action.name}: `;
      return `${name}${enforced ? '' : 'would have been refused: '}${message}`;
    }
    case 'action-waited':
    case 'action-asked': {
      const { reason, code } = entry.decision.verdict as Stop;
      return `${entry.action.name}: ${reason ?? code}`;
    }
    case 'action-allowed':
      return entry.probe ? `${entry.action.name}, to try whether it works again` : entry.action.name;
    case 'action-settled':
      return `${entry.permit.action.name}: ${entry.outcome.kind} after ${Math.round(entry.durationMs)} ms`;
    case 'work-ended':
    case 'permit-renewed':
      return entry.permit.action.name;
    case 'failure-counted':
      return `${entry.name}: ${entry.error}, ${entry.actual} of ${entry.limit}`;
    case 'breaker-opened': {
      const until = entry.untilMs < 0 ? 'until it is reset' : `for ${formatTimeSpan(entry.untilMs - entry.atMs)}`;
      return `${entry.name}: ${entry.cause}; refused ${until}`;
    }
    case 'health-checked':
      return `${entry.name}: ${entry.healthy ? 'healthy' : 'not healthy'}`;
    case 'delegation-returned':
      return entry.failed ? `${entry.worker} failed, ${entry.actual} of ${entry.limit}: ${entry.reason}` : entry.worker;
    case 'usage-observed':
      return `${entry.model}: ${formatCount(entry.cost.tokens, 'token')}, ${formatDollars(entry.cost.micros)}`;
    case 'text-observed':
      return entry.similarity < 0 ? 'the first text' : `like the last one: ${entry.similarity.toFixed(2)}`;
    case 'rule-rejected':
      return `${entry.line}: ${entry.reason}`;
    case 'rules-checked': {
      const fired = entry.rows.flatMap((row) => (row.fired ? row.rule : []));
      const what =
        fired.length === 0 ? `${formatCount(entry.rows.length, 'rule')} passed` : `fired ${fired.join(', ')}`;
      return entry.step === '' ? what : `${entry.step}: ${what}`;
    }
    case 'run-started':
    case 'run-resumed':
      return `chain ${entry.chain}`;
    case 'run-cancelled':
    case 'run-resolved':
      return `chain ${entry.chain}${entry.how === undefined ? '' : `: ${entry.how}`} by ${entry.by ?? 'somebody'}`;
    case 'run-ended':
      return `chain ${entry.chain}: ${entry.status}${entry.code === undefined ? '' : ` (${entry.code})`}`;
    case 'step-started':
      return [
        entry.step,
        ...(entry.attempt === 1 ? [] : [`attempt ${entry.attempt}`]),
        ...(entry.approvedBy === undefined ? [] : [`approved by ${entry.approvedBy}`]),
      ].join(', ');
    case 'step-ended':
      return `${entry.step}: ${entry.status}`;
    case 'standing-given':
    case 'standing-dropped':
      return `chain ${entry.chain} by ${entry.by}: ${entry.rules.join(', ')}`;
    case 'card-changed':
      return `${entry.card.kind} ${entry.card.state}: ${entry.card.evidence[0] ?? entry.card.code}`;
    case 'storm-tripped':
    case 'storm-restarted':
      return `${entry.name}: ${entry.counters.actual ?? '?'} events`;
    case 'price-unknown':
      return `${entry.model}: ${entry.assumed}`;
    case 'setting-ignored':
      return `${entry.name}=${entry.value}; ${entry.used} stays in force`;
    case 'policy-reloaded':
      return entry.changed.join(', ') || 'nothing changed';
    case 'order-given':
      return `${entry.order} ${entry.target ?? 'all'} by ${entry.by}${entry.reason && `: ${entry.reason}`}`;
    case 'store-degraded':
    case 'store-recovered':
      return entry.reason;
    case 'internal-error':
      return `${entry.where}: ${entry.message}`;
    case 'notice':
    case 'loop-suspected':
      return entry.message;
    case 'task-missing':
    case 'breaker-tuned':
    case 'breaker-half-opened':
    case 'breaker-closed':
    case 'breaker-reset':
    case 'breaker-held':
    case 'breaker-released':
    case 'breaker-shadowed':
    case 'call-observed':
    case 'result-observed':
      return entry.name;
    case 'task-stopped':
    case 'task-resumed':
    case 'user-observed':
    case 'sign-observed':
    case 'progress-observed':
      return '';
  }
}

function formatDollars(micros: number): string {
  return `$${(micros / 1_000_000).toFixed(4)}`;
}
