/** The command `switchgear serve token`: adds, lists and revokes the tokens of a store. */

import type { CrossProcessStore } from '../../ports/store.ts';
import { addToken, listTokens, type Role, revokeToken, roles } from '../../server/http/tokens.ts';
import { exitCodes, type ParsedArgs, readArgs, type Terminal, usageError, verbError } from '../command.ts';
import { identifyOperator } from '../policy/operator-option.ts';
import { findStoreAddress, withStore } from '../store-option.ts';
import { createPaint, formatTable } from '../terminal-table.ts';

type TokenVerb = (store: CrossProcessStore, parsedArgs: ParsedArgs, terminal: Terminal) => Promise<void>;

const verbs: Readonly<Record<string, TokenVerb>> = { add, list, revoke };

/** Runs `serve token VERB`. */
export async function runTokenVerb(args: readonly string[], terminal: Terminal): Promise<number> {
  const parsedArgs = readArgs(args, ['--json'], 2, ['--store', '--role']);
  const [name = ''] = parsedArgs.positionals;
  const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined;
  if (verb === undefined) throw verbError('serve token', Object.keys(verbs), parsedArgs.positionals[0]);
  const hasName = parsedArgs.positionals[1] !== undefined;
  if (verb === list && hasName) throw usageError('too many arguments: serve token list takes none');
  if (verb !== list && !hasName) throw usageError(`missing argument NAME: switchgear serve token ${name} NAME`);
  await withStore(findStoreAddress(parsedArgs, terminal), (store) => verb(store, parsedArgs, terminal));
  return exitCodes.ok;
}

async function add(store: CrossProcessStore, parsedArgs: ParsedArgs, terminal: Terminal): Promise<void> {
  const role = parseRole(parsedArgs);
  const { by } = await identifyOperator(store, parsedArgs, terminal, 'loosen');
  terminal.out(await addToken(store, parsedArgs.positionals[1]!, role, by));
  terminal.err('The token is shown this once; the store has only its hash.');
}

function parseRole({ values }: ParsedArgs): Role {
  const text = values.get('--role');
  const role = roles.find((each) => each === text);
  if (role === undefined) throw usageError(`--role must be operator or viewer, got ${JSON.stringify(text ?? '')}`);
  return role;
}

async function list(store: CrossProcessStore, { switches }: ParsedArgs, terminal: Terminal): Promise<void> {
  const tokens = (await listTokens(store)).map(({ name, role, addedWallMs, by }) => ({ name, role, addedWallMs, by }));
  if (switches.has('--json')) terminal.out(JSON.stringify(tokens, null, 2));
  else if (tokens.length === 0) terminal.out('No tokens.');
  else {
    const rows = tokens.map(({ name, role, addedWallMs, by }) => [
      { text: name },
      { text: role },
      { text: `added by ${by}` },
      { text: new Date(addedWallMs).toISOString().slice(0, 16).replace('T', ' '), style: 'dim' as const },
    ]);
    for (const line of formatTable(rows, createPaint(terminal))) terminal.out(line);
  }
}

async function revoke(store: CrossProcessStore, parsedArgs: ParsedArgs, terminal: Terminal): Promise<void> {
  const name = parsedArgs.positionals[1]!;
  await identifyOperator(store, parsedArgs, terminal, 'tighten');
  await revokeToken(store, name);
  terminal.out(`revoked ${name}`);
}
