/** The command `switchgear policy trust`: records that a person allows what a policy file loosens, or takes it back. */

import { existsSync, realpathSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import type { Card } from '../../core/card.ts';
import { defaultSettings } from '../../core/controls/defaults.ts';
import { SwitchgearError } from '../../core/error.ts';
import { stateFolder, userStateFolder } from '../../platform/state-folder.ts';
import { readWrittenPolicy, requirePolicy } from '../../policy/file/written-policy.ts';
import { tightenSettings } from '../../policy/trust/tighten-settings.ts';
import { deleteTrust, writeTrust } from '../../policy/trust/trusted-files.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import { exitCodes, readArgs, type Terminal } from '../command.ts';
import { reportCommandStore } from '../guarding-store.ts';
import { nameSettings } from '../policy/describe-policy.ts';
import { identifyOperator } from '../policy/operator-option.ts';
import { findStoreAddress, withStore } from '../store-option.ts';

export async function trustPolicyFile(args: readonly string[], terminal: Terminal): Promise<number> {
  const parsedArgs = readArgs(args, ['--undo'], 1, ['--store', '--by']);
  const [name] = parsedArgs.positionals;
  const { policy, file, digest } = requirePolicy(readWrittenPolicy(name, terminal));
  const { waiting: settings } = tightenSettings(defaultSettings, policy.settings);
  const isUndone = parsedArgs.switches.has('--undo');
  const address = findStoreAddress(parsedArgs, terminal);
  // Trust holds for the user, whichever store is named: an agent of the usual store must not name an empty one.
  const usual = (isUndone ? [] : listUsualStores(terminal)).flatMap((path) => {
    const each = findStoreAddress(readArgs(['--store', `sqlite:${path}`], [], 0, ['--store']), terminal);
    return each.name !== address.name && existsSync(path) ? each : [];
  });
  const guarding = isUndone ? undefined : await reportCommandStore('it trusts nothing', parsedArgs, terminal);
  for (const each of guarding === undefined ? usual : [guarding, ...usual])
    await withStore(each, (store) => identifyOperator(store, parsedArgs, terminal, 'loosen'));
  return withStore(address, async (store) => {
    const { by, from } = await identifyOperator(store, parsedArgs, terminal, isUndone ? 'tighten' : 'loosen');
    const path = resolve(terminal.cwd, file);
    if (isUndone) {
      const folders = new Set([stateFolder(terminal.env), userStateFolder(terminal)]);
      const undone = [...folders].filter((folder) => deleteTrust(digest, folder));
      if (undone.length === 0) throw new SwitchgearError('not_found', `${file} is not trusted`);
      store.append({ type: 'policy-distrusted', file: path, digest, settings, by }, {}, store.clock.nowMs());
      terminal.out(`${file} is not trusted any more`);
    } else {
      // A process that an agent may have started reads the home that the system knows, and so trusts there.
      const folder = from?.how === 'operator' ? stateFolder(terminal.env) : userStateFolder(terminal);
      writeTrust(digest, { file: path, by, atMs: Date.now() }, folder);
      reportTrust(store, { type: 'policy-trusted', file: path, digest, settings, by });
      const what = settings.length === 0 ? 'it loosens nothing' : `it loosens ${nameSettings(settings)}`;
      terminal.out(`trusted: ${relative(terminal.cwd, path) || file} (${digest.slice(0, 12)}); ${what}`);
    }
    await store.shared.settled();
    return exitCodes.ok;
  });
}

/** The stores of the state folders that the trust is written to; a link can make both folders one. */
function listUsualStores(terminal: Terminal): readonly string[] {
  const [given, own] = [stateFolder(terminal.env), userStateFolder(terminal)];
  const isOwn = [given, join(given, 'trusted')].some((path) => isBelowFolder(path, own));
  return [...new Set([given, ...(isOwn ? [own] : [])])].map((folder) => join(folder, 'state.db'));
}

function isBelowFolder(path: string, folder: string): boolean {
  try {
    return `${realpathSync(path)}/`.startsWith(`${realpathSync(folder)}/`);
  } catch {
    return false;
  }
}

/** Writes the entry and, since trust loosens, the card. */
function reportTrust(
  store: CrossProcessStore,
  entry: {
    readonly type: 'policy-trusted';
    readonly file: string;
    readonly digest: string;
    readonly settings: readonly string[];
    readonly by: string;
  },
): void {
  const atMs = store.clock.nowMs();
  const { file, digest, settings, by } = entry;
  store.append(entry, {}, atMs);
  if (settings.length === 0) return;
  const card: Card = {
    id: `card-trust-${digest.slice(0, 16)}`,
    kind: 'notice',
    task: '',
    code: 'notice',
    counters: {},
    evidence: [`${by} trusts the policy ${file}, which loosens ${nameSettings(settings)}`],
    actions: ['dismiss'],
    state: 'open',
  };
  store.putCard(card);
  store.append({ type: 'card-changed', card }, {}, atMs);
}
