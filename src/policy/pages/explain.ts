/** Explains a policy in text: every effective value, its origin, and advice. */

import type { Settings } from '../../core/settings.ts';
import type { CheckedPolicy } from '../check/check-policy.ts';
import type { Provenance } from '../check/report.ts';
import { unitOf } from './reference-page.ts';

const valueWidth = 28;

/** Returns the lines of an explanation: settings by section, then advice. */
export function explainPolicy(policy: CheckedPolicy): readonly string[] {
  const rows = [...policy.provenance].map(([path, origin]) => ({ ...splitPath(path), origin }));
  const nameWidth = Math.max(...rows.map(({ name }) => name.length));
  const lines: string[] = [];
  let last = '';
  for (const { section, name, origin } of rows.toSorted((a, b) => sectionOrder(a.section) - sectionOrder(b.section))) {
    if (section !== last) lines.push(...(lines.length ? [''] : []), `[${section}]`);
    last = section;
    const [value = '', ...more] = wrapText(formatSettingValue(name, origin.value));
    lines.push(`  ${name.padEnd(nameWidth)}  ${value.padEnd(valueWidth)}  ${formatOrigin(name, origin)}`);
    for (const rest of more) lines.push(`  ${''.padEnd(nameWidth)}  ${rest}`);
  }
  const advice = listAdvice(policy.settings);
  return advice.length ? [...lines, '', 'Advice', ...advice.map((line) => `  ${line}`)] : lines;
}

/** Lists advice on settings that are valid but rarely meant to last. */
export function listAdvice(settings: Settings): readonly string[] {
  const { circuitBreaker: breaker, task, loop, journal } = settings;
  const advice: string[] = [];
  if (settings.mode === 'observe')
    advice.push('mode is "observe": nothing is refused. Good for a trial, not for production.');
  if (breaker.mode !== 'enforce')
    advice.push(`circuit_breaker.mode is "${breaker.mode}": do not run production without breakers.`);
  for (const [tool, { mode }] of Object.entries(settings.tools)) {
    if (mode === 'off') advice.push(`tools.${tool}.mode is "off": this tool has no breaker.`);
  }
  if (!loop.enabled) advice.push('loop.enabled is false: an agent that repeats itself runs until a budget ends it.');
  if (breaker.failureThreshold > 20) {
    advice.push(
      `circuit_breaker.failure_threshold is ${breaker.failureThreshold}: raise it for flaky tools only, in [tools].`,
    );
  }
  if (breaker.timeoutSecs === undefined)
    advice.push('circuit_breaker.timeout_secs is none: give slow tools more time under [tools] instead.');
  if (breaker.recoveryTimeoutSecs < 5) {
    advice.push(`circuit_breaker.recovery_timeout_secs is ${breaker.recoveryTimeoutSecs}: most outages last longer.`);
  }
  if (task.maxIdleSecs > task.maxDurationSecs)
    advice.push('task.max_idle_secs is longer than task.max_duration_secs: the idle limit never applies first.');
  if (journal.content === 'full') advice.push('journal.content is "full": arguments, secrets included, are kept.');
  return advice;
}

function splitPath(path: string): { readonly section: string; readonly name: string } {
  const dot = path.lastIndexOf('.');
  return dot < 0 ? { section: 'policy', name: path } : { section: path.slice(0, dot), name: path.slice(dot + 1) };
}

/** Sorts general settings before those of single agents and tools. */
function sectionOrder(section: string): number {
  return section === 'policy' ? 0 : section.startsWith('agents.') ? 2 : section.startsWith('tools.') ? 3 : 1;
}

function formatSettingValue(name: string, value: unknown): string {
  if (Array.isArray(value)) return value.join(' ') || 'empty';
  if (typeof value === 'object' && value !== null) {
    return (
      Object.entries(value)
        .map(([key, item]) => `${key}=${typeof item === 'object' ? JSON.stringify(item) : item}`)
        .join(' ') || 'empty'
    );
  }
  return `${value}${typeof value === 'number' ? unitOf(name) : ''}`;
}

/** Wraps a list to the column width; a longer word gets a line of its own. */
function wrapText(text: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < valueWidth) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function formatOrigin(name: string, { source, alias, line, note }: Provenance): string {
  const location = source.replace(/^file /, '') + (line === undefined ? '' : `, line ${line}`);
  const more = alias === undefined ? note : `${alias} (alias of ${name})`;
  return more === undefined ? location : `${location}: ${more}`;
}
