/** Builds the block for a system prompt that tells an agent the limits in force: of tools, of workers, of the task. */

import { resolveBreaker } from '../controls/resolve-settings.ts';
import { formatCents } from '../quote.ts';
import type { BreakerSettings, Settings } from '../settings.ts';
import { formatProtocol, protocolPrompt } from './prompts.ts';

/** The most tools and workers with limits of their own that the prompt names. */
const namesMax = 50;

/** The blocks of a system prompt for the settings in force: none if nothing is refused. */
export function listPrompts(settings: Settings): readonly string[] {
  if (settings.mode === 'observe') return [];
  const own = Object.keys(settings.tools).map((tool) => resolveBreaker(settings, { tool }));
  const waits = new Set([settings.circuitBreaker, ...own].filter(({ mode }) => mode === 'enforce').map(formatWait));
  // With several waits none of them may stand for all.
  const protocols = waits.size > 1 ? [formatProtocol('Waiting [its wait]')] : [protocolPrompt(settings)];
  return [...(waits.size === 0 ? [] : protocols), limitsPrompt(settings)];
}

/** The limits in force, as an agent reads them. */
function limitsPrompt(settings: Settings): string {
  const parts = [describeTools(settings), describeWorkers(settings), describeTask(settings)];
  const lines = parts.filter((part) => part.length > 0).flatMap((part) => ['', ...part]);
  return ['## LIMITS IN FORCE', ...lines, ''].join('\n');
}

/** The limits of tools; the breaker of each may have its own. */
function describeTools(settings: Settings): readonly string[] {
  const { circuitBreaker: general, tools, loop, sameErrorTools } = settings;
  const others = Object.keys(tools)
    .slice(0, namesMax)
    .flatMap((name) => {
      const own = resolveBreaker(settings, { tool: name });
      return describeBreaker(own) === describeBreaker(general) ? [] : [`- \`${name}\`: ${describeBreaker(own)}`];
    });
  const repeats = loop.enabled
    ? [`- A refused call that you repeat unchanged ${loop.refusedRepeats + 1} times ends the task.`]
    : [];
  return [
    'Tools:',
    `- ${others.length === 0 ? 'Every tool' : 'Every other tool'}: ${describeBreaker(general)}`,
    ...others,
    ...(sameErrorTools.length === 0
      ? []
      : ['- For shells, and other tools whose errors are answers, only the same error in a row counts.']),
    '- A refused call says why and what to do. Do not repeat it before its wait is over: use another tool, or tell',
    '  the user what you could not do.',
    ...repeats,
  ];
}

function describeBreaker({ mode, trip, failureThreshold, recovery, recoveryTimeoutSecs }: BreakerSettings): string {
  if (mode !== 'enforce') return 'never refused for its failures.';
  const often = failureThreshold === 1 ? 'after 1 failure' : `after ${failureThreshold} failures`;
  const how = trip === 'consecutive' && failureThreshold > 1 ? `${often} in a row` : often;
  return `refused ${how}, ${formatWait({ recovery, recoveryTimeoutSecs })}.`;
}

function formatWait({ recovery, recoveryTimeoutSecs }: Pick<BreakerSettings, 'recovery' | 'recoveryTimeoutSecs'>) {
  return recovery === 'manual' ? 'until a person resets it' : `for ${recoveryTimeoutSecs}s`;
}

/** The limits of workers, and of plain tools if they count as workers. */
function describeWorkers({ delegation }: Settings): readonly string[] {
  const { maxFailures, workerLimits, onTrip, onFailure, tools, maxDepth, resetAfterSecs } = delegation;
  const end = onTrip === 'halt' ? 'the whole task ends' : 'it gets no more work, and others still do';
  const limit = onFailure === 'end' ? 1 : maxFailures;
  const others = Object.entries(workerLimits)
    .slice(0, namesMax)
    .map(([name, own]) => `- \`${name}\`: ${formatFailures(own)}.`);
  const who = tools ? 'subagent, worker or tool' : 'subagent or worker';
  return [
    tools ? 'Subagents, workers and tools as workers:' : 'Subagents and workers (not tools):',
    `- A ${who} that failed ${limit === 1 ? 'once' : `${limit} times`} is not asked again: ${end}.`,
    ...(onFailure === 'end' ? [] : others),
    '- A failure is an error, a report that the work could not be done, or work that comes back incomplete.',
    ...(resetAfterSecs === undefined ? [] : [`- Failures are forgotten ${resetAfterSecs}s after the last one.`]),
    ...(maxDepth === undefined ? [] : [`- Work is delegated at most ${maxDepth} levels deep.`]),
  ];
}

function formatFailures(count: number): string {
  return count === 1 ? '1 failure' : `${count} failures`;
}

function describeTask({ task }: Settings): readonly string[] {
  const { maxToolCalls, maxSpendCents, maxTokens, maxDurationSecs, maxDenials } = task;
  const limits = [
    Number.isFinite(maxToolCalls) ? [`${maxToolCalls} tool calls`] : [],
    [`${formatCents(maxSpendCents)} of model use`],
    maxTokens === undefined ? [] : [`${maxTokens} tokens`],
    [`${maxDurationSecs}s`],
  ].flat();
  return [
    'The task:',
    `- It ends after ${limits.slice(0, -1).join(', ')} or ${limits.at(-1)}.`,
    `- It ends after ${maxDenials} refused calls in a row.`,
    '- Keep enough of it for a closing answer: what you found, and what is missing.',
  ];
}
