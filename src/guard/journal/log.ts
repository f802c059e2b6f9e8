/** The lines on stderr: trips and halts, and from `info` on every record with a message. */

import { failureLines, tripLine } from '../../core/controls/delegation/messages.ts';
import { listSettingsOf } from '../../core/controls/registry.ts';
import type { Entry } from '../../core/event.ts';
import { cleanLine } from '../../core/foreign-text.ts';
import { describeFailedCall, describeMissingTask, describeOpening } from '../../core/messages/entry-words.ts';
import type { SwitchgearOptions } from '../api.ts';

export type LogLevel = 'silent' | 'trips' | 'info' | 'debug';

export const ours = 'switchgear: ';
export const warning = `⚠️ ${ours}`;

/** The log level: `trips` by default, `silent` in a test runner. */
export function resolveLogLevel(log: SwitchgearOptions['log']): LogLevel {
  if (typeof log === 'function') return 'info';
  const { NODE_TEST_CONTEXT, NODE_ENV, VITEST } = process.env;
  return log ?? (NODE_TEST_CONTEXT || NODE_ENV === 'test' || VITEST ? 'silent' : 'trips');
}

/** The line of an entry at a level, or undefined. Names and reasons in it may come from a model or a tool. */
export function formatLogLine(entry: Entry, level: LogLevel, lastError?: string): string | undefined {
  if (entry.type === 'delegation-returned') {
    if (level === 'trips' || !entry.failed) return undefined;
    const lines = failureLines(entry.worker, entry.actual, entry.limit, entry.reason);
    return lines.map((line) => cleanLine(line)).join('\n');
  }
  const line = describeEntry(entry, level, lastError);
  return line === undefined ? undefined : cleanLine(line);
}

function describeEntry(entry: Entry, level: LogLevel, lastError: string | undefined): string | undefined {
  switch (entry.type) {
    case 'breaker-opened': {
      const { untilMs, atMs } = entry;
      const until = untilMs < 0 ? 'until a manual reset' : `for ${Math.ceil((untilMs - atMs) / 1000)}s`;
      const last = lastError === undefined ? '' : `, last error: ${lastError}`;
      const cause = `${describeOpening(entry.cause, entry.counters.limit)}${last}`;
      return `🔴 ${ours}${entry.name} tripped (${cause}); calls are refused ${until}`;
    }
    case 'task-halted': {
      if (entry.cause !== undefined) return undefined; // The halt of its ancestor was already printed.
      const { code, counters } = entry.stop;
      if (code === 'delegation_limit') {
        return tripLine(String(counters.worker), Number(counters.actual), Number(counters.limit));
      }
      const how = entry.enforced ? 'halted' : 'would have been halted';
      const why = entry.message + nameSettings(entry.message, code);
      return `🛑 ${ours}task ${entry.task} of ${entry.agent} ${how}: ${why}`;
    }
    case 'storm-tripped': {
      const { actual, observed } = entry.counters;
      const [how, then] = observed ? ['would have been paused', ''] : ['paused', '; restart it by hand'];
      return `${warning}watcher ${entry.name} ${how} after ${actual} events${then}`;
    }
    case 'internal-error':
      return `${warning}internal error in ${entry.where}: ${entry.message}`;
    case 'setting-ignored':
      return warning + (entry.message ?? `${entry.name}=${entry.value} cannot be used; ${entry.used} stays in force`);
    case 'setting-loosened':
      return `${warning}${entry.name}=${entry.value} protects less than ${entry.before}, which holds without it`;
    case 'price-unknown':
      return `${warning}no price is known for ${entry.model}: ${entry.assumed}`;
    case 'usage-estimated':
      if (entry.cause === 'cut') return level === 'trips' ? undefined : infoLine(entry);
      return `${warning}${entry.model} reported no usage, so its tokens are estimated: ${entry.remedy}`;
    case 'access-refused':
      return `${warning}${entry.name} answers with 401 or 403: check its credentials`;
    case 'store-degraded':
    case 'store-recovered':
      return `${warning}${entry.type}: ${entry.reason}`;
    default:
      return level === 'trips' ? undefined : infoLine(entry);
  }
}

/** The setting that changes when a halt comes, unless its message names one. */
function nameSettings(message: string, code: string): string {
  const [setting] = listSettingsOf(code);
  return setting === undefined || / change(s)? that/.test(message) ? '' : `; ${setting} changes that`;
}

function infoLine(entry: Entry): string | undefined {
  switch (entry.type) {
    case 'failure-counted':
      return `${warning}${entry.name} failed (${entry.actual} of ${entry.limit}): ${describeFailedCall(entry)}`;
    case 'action-refused':
      return `${ours}${entry.action.name} refused: ${entry.message}`;
    case 'task-missing':
      return `${warning}${describeMissingTask(entry.name)}`;
    case 'notice':
      return ours + entry.message;
    case 'usage-estimated':
      return `${ours}an answer of ${entry.model} broke off, so its tokens are estimated`;
    default:
      return 'name' in entry ? `${ours}${entry.type}: ${entry.name}` : undefined;
  }
}
