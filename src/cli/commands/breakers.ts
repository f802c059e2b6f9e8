/** The commands `switchgear trip` and `switchgear reset`: open or close breakers of every process on a store. */

import { defaultBreaker } from '../../core/controls/breaker/defaults.ts';
import { resolveBreaker } from '../../core/controls/resolve-settings.ts';
import { secsMax } from '../../core/limits.ts';
import { formatTimeSpan } from '../../core/quote.ts';
import type { BreakerSettings } from '../../core/settings.ts';
import type { StoredBreaker } from '../../operator/board/answers.ts';
import { effectsOfHolds, holdBreakers, releaseBreakers } from '../../operator/breaker-holds.ts';
import { resetBreakers, tripBreakers } from '../../operator/breakers.ts';
import { formatCount, sanitizeText } from '../../operator/format.ts';
import { type Command, exitCodes, type ParsedArgs, readArgs, type Terminal, usageError } from '../command.ts';
import { loadEffectivePolicy } from '../policy/load-policy.ts';
import { identifyOperator } from '../policy/operator-option.ts';
import { findStoreAddress, withStore } from '../store-option.ts';
import { parseOrderReason, parseOrderRequest } from './order-args.ts';

export const tripCommand: Command = {
  usage: ['trip TOOL [--for SECS]           open the breakers of a tool by hand, in every process on a store'],
  async run(args, terminal) {
    const parsedArgs = readArgs(args, ['--json'], 1, ['--store', '--for', '--reason']);
    const [tool] = parsedArgs.positionals;
    if (tool === undefined || tool === '') throw usageError('missing argument TOOL');
    const settings = await findTripSettings(tool, parseTripSecs(parsedArgs), terminal);
    const reason = parseOrderReason(parsedArgs);
    return withStore(findStoreAddress(parsedArgs, terminal), async (store) => {
      const operator = await identifyOperator(store, parsedArgs, terminal, 'tighten');
      const trip = await tripBreakers(store, { target: tool, reason, ...operator, settings });
      const { breakers, atMs, untilMs } = trip;
      if (parsedArgs.switches.has('--json')) {
        const opened = breakers.map(({ key }) => key);
        terminal.out(JSON.stringify({ tool, ...(untilMs !== undefined && { untilMs }), opened }, null, 2));
      } else {
        const durationText = untilMs === undefined ? 'until it is reset' : `for ${formatTimeSpan(untilMs - atMs)}`;
        terminal.out(`${sanitizeText(tool)} is tripped ${durationText}. ${describeOpened(breakers.length)}`);
      }
      return exitCodes.ok;
    });
  },
};

function describeOpened(count: number): string {
  return count === 0
    ? 'The store has no breaker of this name yet; new ones open at their next call.'
    : `${formatCount(count, 'breaker')} opened; others of this name open at their next call.`;
}

/** The settings of a trip: for some seconds, or with the recovery that the policy here sets for the tool. */
export async function findTripSettings(
  tool: string,
  secs: number | undefined,
  terminal: Terminal,
  policyOption?: string,
): Promise<BreakerSettings> {
  if (secs !== undefined) return { ...defaultBreaker, recoveryTimeoutSecs: secs };
  return resolveBreaker((await loadEffectivePolicy(policyOption, terminal)).policy.settings, { tool });
}

function parseTripSecs({ values }: ParsedArgs): number | undefined {
  const text = values.get('--for');
  if (text === undefined) return undefined;
  const secs = /^\d+(\.\d+)?$/.test(text) ? Number(text) : 0;
  if (secs <= 0 || secs > secsMax)
    throw usageError(`--for must be seconds, more than 0 and at most ${secsMax}, got ${JSON.stringify(text)}`);
  return secs;
}

export const resetCommand: Command = {
  usage: ['reset TOOL|--all                 close the breakers of a tool, or all of them, and clear their counts'],
  run(args, terminal) {
    const parsedArgs = readArgs(args, ['--json', '--all'], 1, ['--store']);
    const request = parseOrderRequest(parsedArgs, 'TOOL');
    return withStore(findStoreAddress(parsedArgs, terminal), async (store) => {
      const operator = await identifyOperator(store, parsedArgs, terminal, 'loosen');
      reportReset(await resetBreakers(store, { ...request, ...operator }), request.target, parsedArgs, terminal);
      return exitCodes.ok;
    });
  },
};

function reportReset(
  breakers: readonly StoredBreaker[],
  tool: string | null,
  { switches }: ParsedArgs,
  { out }: Terminal,
): void {
  if (switches.has('--json')) {
    out(JSON.stringify({ tool, reset: breakers.map(({ key }) => key) }, null, 2));
    return;
  }
  const names = [...new Set(breakers.map(({ name }) => sanitizeText(name)))].toSorted().join(', ');
  if (breakers.length === 0) out(`removed the trip of ${sanitizeText(tool ?? 'all tools')}`);
  else out(`${formatCount(breakers.length, 'breaker')} reset: ${names}`);
  const heldBreakers = breakers.filter((each) => each.held);
  if (heldBreakers.length > 0)
    out(`${formatCount(heldBreakers.length, 'breaker')} held by a program: calls stay refused until it releases them.`);
}

export const holdCommand = createHoldCommand('hold', [
  'hold TOOL [--reason T]           keep the breakers of a tool open until they are released',
]);

export const releaseCommand = createHoldCommand('release', [
  'release TOOL                     release held breakers of a tool, also those that a program holds',
]);

function createHoldCommand(order: 'hold' | 'release', usage: readonly string[]): Command {
  return {
    usage,
    run(args, terminal) {
      const parsedArgs = readArgs(args, ['--json'], 1, order === 'hold' ? ['--store', '--reason'] : ['--store']);
      const [target] = parsedArgs.positionals;
      if (target === undefined || target === '') throw usageError('missing argument TOOL');
      const reason = parseOrderReason(parsedArgs);
      return withStore(findStoreAddress(parsedArgs, terminal), async (store) => {
        const operator = await identifyOperator(store, parsedArgs, terminal, effectsOfHolds[order]);
        const change = order === 'hold' ? holdBreakers : releaseBreakers;
        const breakers = await change(store, { target, reason, ...operator });
        const name = sanitizeText(target);
        if (parsedArgs.switches.has('--json'))
          terminal.out(JSON.stringify({ tool: target, [order]: breakers.map(({ key }) => key) }, null, 2));
        else if (order === 'hold') terminal.out(`${name} is held: calls are refused until switchgear release ${name}`);
        else terminal.out(`released ${name}`);
        return exitCodes.ok;
      });
    },
  };
}
