/** Formats a journal entry as one line for a person. */

import type { Cost, Outcome } from '../core/action.ts';
import { unlimited } from '../core/declare/setting.ts';
import type { Entry, EntryType } from '../core/event.ts';
import { secsMax } from '../core/limits.ts';
import { describeFailedCall, describeMissingTask, describeOpening } from '../core/messages/entry-words.ts';
import { toSnakeCase } from '../core/names.ts';
import { formatTimeSpan } from '../core/quote.ts';
import type { Stop } from '../core/verdict.ts';
import { formatCount, type Paint, type Style, sanitizeText } from './format.ts';

const typeWidth = 19;

/** Formats an entry as `time  type  words  task`. */
export function formatEntry(entry: Entry, paint: Paint): string {
  const time = new Date(entry.wallMs).toTimeString().slice(0, 8);
  const words = sanitizeText(describeEntry(entry) ?? ''); // A newer version may write other types.
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
  'setting-loosened': 'yellow',
  'policy-changed': 'yellow',
  'policy-trusted': 'cyan',
  'policy-distrusted': 'cyan',
};

type EntryOf<T extends EntryType> = Entry & { readonly type: T };

/** Describes an entry; returns undefined for a type of a newer version. */
export function describeEntry(entry: Entry): string | undefined {
  const describe = descriptions[entry.type] as ((entry: Entry) => string) | undefined;
  return describe?.(entry);
}

const describeName = ({ name }: { readonly name: string }) => name;
const describeNothing = () => '';

/** The words of every entry type. */
const descriptions: { readonly [type in EntryType]: (entry: EntryOf<type>) => string } = {
  'task-started': describeTaskStart,
  'task-ended': ({ how }) => how,
  'task-halted': ({ enforced, message }) => `${enforced ? '' : 'would have been halted: '}${message}`,
  'task-stopped': () => 'its time limits stand still: it is paused, or waits for a person',
  'task-resumed': () => 'its time limits run again',
  'task-missing': ({ name }) => describeMissingTask(name),
  'action-refused': describeRefusal,
  'action-waited': describeStop,
  'action-asked': describeStop,
  'action-allowed': ({ probe, action }) => (probe ? `${action.name}, as a probe` : action.name),
  'action-settled': ({ permit, outcome, durationMs }) =>
    `${permit.action.name} ${describeOutcome(outcome)} after ${Math.round(durationMs)} ms`,
  'work-ended': ({ permit }) => permit.action.name,
  'reservation-changed': ({ permit }) => permit.action.name,
  'permit-renewed': ({ permit }) => permit.action.name,
  'failure-counted': ({ name, error, status, message, actual, limit }) =>
    `${name} failed (${actual} of ${limit}): ${describeFailedCall({ error, status, message })}`,
  'breaker-opened': describeTrip,
  'breaker-tuned': describeName,
  'breaker-half-opened': ({ name }) => `${name}: the next call tries it`,
  'breaker-closed': ({ name }) => `${name} works again`,
  'breaker-reset': ({ name }) => `${name}: closed by hand, counts cleared`,
  'breaker-held': ({ name }) => `${name}: refused by hand`,
  'breaker-released': ({ name }) => `${name}: no longer refused by hand`,
  'breaker-shadowed': ({ name }) => `${name}: its calls would be refused`,
  'limit-raised': ({ setting, before, limit, tool, by }) =>
    `${tool === undefined ? '' : `${tool}: `}${toSnakeCase(setting)}: from ${before} to ${limit}, raised by ${by}`,
  'call-observed': describeName,
  'result-observed': describeName,
  'user-observed': describeNothing,
  'sign-observed': describeNothing,
  'progress-observed': describeNothing,
  'usage-observed': ({ model, cost }) =>
    `${model}: ${formatCount(cost.tokens, 'token')}, ${formatDollars(cost.micros)}${describeUncertainty(cost)}`,
  'text-observed': ({ similarity }) =>
    similarity < 0 ? 'the first text' : `similarity to the previous text: ${similarity.toFixed(2)}`,
  'health-checked': ({ name, healthy }) => `${name}: ${healthy ? 'healthy' : 'not healthy'}`,
  'delegation-returned': ({ failed, worker, actual, limit, reason }) =>
    failed ? `${worker} failed, ${actual} of ${limit}: ${reason}` : worker,
  'rule-rejected': ({ line, reason }) => `${line}: ${reason}`,
  'rules-checked': describeRuleCheck,
  'run-started': ({ chain }) => `chain ${chain}`,
  'run-resumed': ({ chain }) => `chain ${chain}`,
  'run-cancelled': describeRunOrder,
  'run-resolved': describeRunOrder,
  'run-ended': ({ chain, status, code }) => `chain ${chain}: ${status}${code === undefined ? '' : ` (${code})`}`,
  'step-started': describeStepStart,
  'step-ended': ({ step, status }) => `${step}: ${status}`,
  'standing-given': describeStanding,
  'standing-dropped': describeStanding,
  'card-changed': ({ card }) => `${card.kind} ${card.state}: ${card.evidence[0] ?? card.code}`,
  'storm-tripped': describeStorm,
  'storm-restarted': describeStorm,
  'price-unknown': ({ model, assumed }) => `${model}: ${assumed}`,
  'usage-estimated': ({ model, cause, remedy }) =>
    cause === 'cut' ? `${model}: an answer broke off` : `${model}: no usage was reported; ${remedy}`,
  'access-refused': ({ name }) => `${name} answers with 401 or 403: check its credentials`,
  'setting-loosened': ({ name, value, before }) => `${name}=${value} protects less than ${before}`,
  'policy-changed': ({ file, waiting }) =>
    `${file || 'no policy file'}${waiting.length === 0 ? '' : `; waiting for trust: ${waiting.join(', ')}`}`,
  'policy-trusted': ({ file, settings, by }) =>
    `${file} by ${by}${settings.length === 0 ? '' : `: ${settings.join(', ')}`}`,
  'policy-distrusted': ({ file, by }) => `${file} by ${by}`,
  'setting-ignored': ({ name, value, used, message }) => message ?? `${name}=${value}; ${used} stays in force`,
  'policy-reloaded': ({ changed }) => changed.join(', ') || 'nothing changed',
  'order-given': ({ order, target, by, reason }) => `${order} ${target ?? 'all'} by ${by}${reason && `: ${reason}`}`,
  'store-degraded': ({ reason }) => reason,
  'store-recovered': ({ reason }) => reason,
  'internal-error': ({ where, message }) => `${where}: ${message}`,
  notice: ({ message }) => message,
  'loop-suspected': ({ message }) => message,
};

function describeOutcome(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'success':
      return 'succeeded';
    case 'failure':
      return `failed (${outcome.error})`;
    case 'neutral':
      return `ended uncounted (${outcome.why})`;
  }
}

function describeTaskStart({ agent, limits }: EntryOf<'task-started'>): string {
  const { maxToolCalls, maxSpendCents, maxDurationSecs } = limits;
  const duration = maxDurationSecs >= secsMax ? 'no time limit' : formatTimeSpan(maxDurationSecs * 1000);
  const calls = maxToolCalls === unlimited ? 'any number of' : `at most ${maxToolCalls}`;
  return `${agent ?? 'an agent'}: ${calls} calls, $${maxSpendCents / 100}, ${duration}`;
}

function describeRefusal({ action, message, enforced }: EntryOf<'action-refused'>): string {
  const name = message.includes(`'${action.name}'`) ? '' : `${action.name}: `;
  return `${name}${enforced ? '' : 'would have been refused: '}${message}`;
}

function describeStop({ action, decision }: EntryOf<'action-waited' | 'action-asked'>): string {
  const { reason, code } = decision.verdict as Stop;
  return `${action.name}: ${reason ?? code}`;
}

function describeTrip({ name, cause, counters, untilMs, atMs }: EntryOf<'breaker-opened'>): string {
  const until = untilMs < 0 ? 'until it is reset' : `for ${formatTimeSpan(untilMs - atMs)}`;
  return `${name}: ${describeOpening(cause, counters.limit)}; refused ${until}`;
}

function describeRuleCheck({ rows, step }: EntryOf<'rules-checked'>): string {
  const fired = rows.flatMap((row) => (row.fired ? row.rule : []));
  const result = fired.length === 0 ? `${formatCount(rows.length, 'rule')} passed` : `fired ${fired.join(', ')}`;
  return step === '' ? result : `${step}: ${result}`;
}

function describeRunOrder({ chain, how, by }: EntryOf<'run-cancelled' | 'run-resolved'>): string {
  return `chain ${chain}${how === undefined ? '' : `: ${how}`} by ${by ?? 'somebody'}`;
}

function describeStepStart({ step, attempt, approvedBy }: EntryOf<'step-started'>): string {
  return [
    step,
    ...(attempt === 1 ? [] : [`attempt ${attempt}`]),
    ...(approvedBy === undefined ? [] : [`approved by ${approvedBy}`]),
  ].join(', ');
}

function describeStanding({ chain, by, rules }: EntryOf<'standing-given' | 'standing-dropped'>): string {
  return `chain ${chain} by ${by}: ${rules.join(', ')}`;
}

function describeStorm({ name, counters }: EntryOf<'storm-tripped' | 'storm-restarted'>): string {
  return `${name}: ${counters.actual ?? '?'} events`;
}

function formatDollars(micros: number): string {
  return `$${(micros / 1_000_000).toFixed(4)}`;
}

/** Whether the price is guessed and the tokens are estimated. */
function describeUncertainty({ guessed, estimated }: Cost): string {
  return `${guessed ? ' (guessed price)' : ''}${estimated ? ' (estimated tokens)' : ''}`;
}
