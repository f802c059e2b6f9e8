/** The command `switchgear gateway key`: adds, lists and removes the keys of clients of a gateway. */

import { addKey, type KeyLimits, type KeyRecord, listGatewayKeys, removeKey } from '../../gateway/keys/key-records.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { exitCodes, type ParsedArgs, readArgs, type Terminal, usageError, verbError } from '../command.ts';
import { parseWholeNumber } from '../option-values.ts';
import { identifyOperator } from '../policy/operator-option.ts';
import { findStoreAddress, withStore } from '../store-option.ts';
import { createPaint, formatTable } from '../terminal-table.ts';

type KeyVerb = (store: CrossProcessStore, parsedArgs: ParsedArgs, terminal: Terminal) => Promise<void>;

const verbs: Readonly<Record<string, KeyVerb>> = { add, list, remove };
const limitOptions = ['--budget', '--models', '--requests-per-minute', '--tokens-per-minute'];
const windows = { minute: 60, hour: 3_600, day: 86_400, week: 604_800, month: 2_592_000 } as const;
/** Letters of all globs of models of a key. */
const modelsLengthMax = 300;

/** Runs `gateway key VERB`. */
export async function runKeyVerb(args: readonly string[], terminal: Terminal): Promise<number> {
  const parsedArgs = readArgs(args, ['--json'], 2, ['--store', ...limitOptions]);
  const [name = '', key] = parsedArgs.positionals;
  const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined;
  if (verb === undefined) throw verbError('gateway key', Object.keys(verbs), parsedArgs.positionals[0]);
  if (verb === list && key !== undefined) throw usageError('too many arguments: gateway key list takes none');
  if (verb !== list && key === undefined)
    throw usageError(`missing argument NAME: switchgear gateway key ${name} NAME`);
  const stray = limitOptions.find((option) => verb !== add && parsedArgs.values.has(option));
  if (stray !== undefined) throw usageError(`${stray} is an option of gateway key add`);
  await withStore(findStoreAddress(parsedArgs, terminal), (store) => verb(store, parsedArgs, terminal));
  return exitCodes.ok;
}

async function add(store: CrossProcessStore, parsedArgs: ParsedArgs, terminal: Terminal): Promise<void> {
  const limits = parseLimits(parsedArgs.values);
  const { by } = await identifyOperator(store, parsedArgs, terminal, 'loosen');
  terminal.out(await addKey(store, parsedArgs.positionals[1]!, limits, by));
  terminal.err('The key is shown this once; the store has only its hash. From now on, the gateway refuses other keys.');
}

function parseLimits(values: ParsedArgs['values']): KeyLimits {
  const budget = parseBudget(values.get('--budget'));
  const models = parseModels(values.get('--models'));
  const requestsPerMinute = parseWholeNumber(values, '--requests-per-minute');
  const tokensPerMinute = parseWholeNumber(values, '--tokens-per-minute');
  return {
    ...(budget && { budget }),
    ...(models && { models }),
    ...(requestsPerMinute !== undefined && { requestsPerMinute }),
    ...(tokensPerMinute !== undefined && { tokensPerMinute }),
  };
}

/** Parses money and a rolling window: `$20/day`; without a window it is for the life of the key. */
function parseBudget(text: string | undefined): KeyLimits['budget'] {
  if (text === undefined) return undefined;
  const [, dollars, window] = /^\$?(\d{1,7}(?:\.\d{1,2})?)(?:\/([a-z]+))?$/.exec(text) ?? [];
  const cents = Math.round(Number(dollars) * 100);
  const isKnown = window === undefined || Object.hasOwn(windows, window);
  if (!isKnown || !(cents >= 1)) {
    const names = Object.keys(windows).join(', ');
    throw usageError(`--budget must be dollars, or dollars/WINDOW with one of ${names}, got ${JSON.stringify(text)}`);
  }
  return { cents, ...(window !== undefined && { windowSecs: windows[window as keyof typeof windows] }) };
}

function parseModels(text: string | undefined): readonly string[] | undefined {
  if (text === undefined) return undefined;
  const models = text.split(',').map((each) => each.trim());
  if (text.length <= modelsLengthMax && models.every((each) => /^[\w.:*/@+-]+$/.test(each))) return models;
  throw usageError(`--models must be names of models with commas, * for any characters, got ${JSON.stringify(text)}`);
}

async function list(store: CrossProcessStore, { switches }: ParsedArgs, terminal: Terminal): Promise<void> {
  const keys = (await listGatewayKeys(store)).map(({ hash: _, ...shown }) => shown);
  if (switches.has('--json')) terminal.out(JSON.stringify(keys, null, 2));
  else if (keys.length === 0) terminal.out('No keys.');
  else {
    const rows = keys.map((key) => [
      { text: key.name },
      { text: `added by ${key.by}` },
      { text: new Date(key.addedWallMs).toISOString().slice(0, 16).replace('T', ' '), style: 'dim' as const },
      { text: describeLimits(key) }, // The last cell is never truncated.
    ]);
    for (const line of formatTable(rows, createPaint(terminal))) terminal.out(line);
  }
}

function describeLimits({ budget, models, requestsPerMinute, tokensPerMinute }: Omit<KeyRecord, 'hash'>): string {
  const window = Object.entries(windows).find(([, secs]) => secs === budget?.windowSecs)?.[0];
  const parts = [
    budget && `$${(budget.cents / 100).toFixed(2)}${window === undefined ? '' : `/${window}`}`,
    requestsPerMinute && `${requestsPerMinute} requests/minute`,
    tokensPerMinute && `${tokensPerMinute} tokens/minute`,
    models?.join(','),
  ];
  return parts.filter((part) => part !== undefined).join(', ') || 'no limits of its own';
}

async function remove(store: CrossProcessStore, parsedArgs: ParsedArgs, terminal: Terminal): Promise<void> {
  const name = parsedArgs.positionals[1]!;
  // Without any key, a gateway on loopback needs none: that loosens.
  const isLast = (await listGatewayKeys(store)).every((each) => each.name === name);
  await identifyOperator(store, parsedArgs, terminal, isLast ? 'loosen' : 'tighten');
  await removeKey(store, name);
  terminal.out(`removed ${name}`);
}
