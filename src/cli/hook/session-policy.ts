/**
 * The policy of a hook. A session keeps the policy it began with: what a changed file tightens holds at once, what it
 * loosens holds with the next session, or once a person trusts the file.
 */

import type { Card } from '../../core/card.ts';
import { defaultSettings } from '../../core/controls/defaults.ts';
import { appendEntry, openCard, type Runtime } from '../../guard/internal.ts';
import type { LockedSession } from '../../hooks/session/session-lock.ts';
import type { SessionPolicy } from '../../hooks/session/session-state.ts';
import { findPolicyFiles } from '../../platform/policy-files.ts';
import { sha256Hex } from '../../platform/sha256.ts';
import type { CheckedPolicy } from '../../policy/check/check-policy.ts';
import type { CrossProcessStore } from '../../ports/store.ts';
import type { Terminal } from '../command.ts';
import { listLoosening, nameSettings } from '../policy/describe-policy.ts';
import type { CallerPlace, PolicyInForce } from '../policy/policy-in-force.ts';
import { isPolicyVariable } from '../policy/policy-variables.ts';
import { readStoredSettings, storeSettings } from '../policy/stored-settings.ts';

/** The policy of one hook process. */
export interface HookPolicy {
  /** Undefined if the defaults hold. */
  readonly policy: CheckedPolicy | undefined;
  /** Equal for equal files, trust and variables; empty if there are none. */
  readonly id: string;
  /** How the policy was found; undefined if nothing was looked for. */
  readonly inForce: PolicyInForce | undefined;
  /** How this policy differs from the one that the session began with. */
  readonly change?: PolicyChange;
}

interface PolicyChange {
  readonly from: SessionPolicy;
  /** Settings that wait for the next session. */
  readonly waiting: readonly string[];
  /** The settings in force. */
  readonly base: string;
}

/** Thrown under the lock of a session that began with another policy; the hook starts again with that policy. */
export class OtherPolicySignal {
  readonly from: SessionPolicy;
  constructor(from: SessionPolicy) {
    this.from = from;
  }
}

/** Loads the policy of a hook. A folder without a policy loads no parser. */
export async function loadHookPolicy(
  policyOption: string | undefined,
  terminal: Terminal,
  place: CallerPlace,
): Promise<HookPolicy> {
  const hasVariable = Object.keys(terminal.env).some((name) => isPolicyVariable(name) && name !== 'SWITCHGEAR_TRUST');
  if (policyOption === undefined && !hasVariable && findPolicyFiles(terminal.cwd, terminal).length === 0) {
    return { policy: undefined, id: '', inForce: undefined };
  }
  const { loadPolicyInForce } = await import('../policy/policy-in-force.ts');
  const inForce = await loadPolicyInForce(policyOption, terminal, place);
  const { policy, digest = '', waiting } = inForce;
  const variables = [...policy.provenance].flatMap(([path, { value, source }]) =>
    source.startsWith('environment') ? [[path, value]] : [],
  );
  const isPlain = digest === '' && variables.length === 0;
  const id = isPlain ? '' : sha256Hex(JSON.stringify([digest, waiting.length === 0, variables]));
  return { policy, id, inForce };
}

/** Makes the policy of a hook in a session that began with another one. */
export async function resolveChangedPolicy(
  store: CrossProcessStore,
  hookPolicy: HookPolicy,
  from: SessionPolicy,
): Promise<HookPolicy> {
  const { checkPolicy, markChecked } = await import('../../policy/check/check-policy.ts');
  const { tightenSettings } = await import('../../policy/trust/tighten-settings.ts');
  const { policy, id, inForce } = hookPolicy;
  const { provenance } = policy ?? checkPolicy({});
  const before = await readStoredSettings(store, from.base);
  if (from.seen === id && from.base !== id) {
    return { ...hookPolicy, policy: markChecked(before, provenance), change: { from, waiting: [], base: from.base } };
  }
  const after = policy?.settings ?? defaultSettings;
  const isTrustedSince = typeof inForce?.trust === 'object' && inForce.trust.atMs >= from.atMs;
  const tightened = isTrustedSince ? { settings: after, waiting: [] } : tightenSettings(before, after);
  const { settings, waiting } = tightened;
  const base = waiting.length === 0 ? id : sha256Hex(`${from.base} ${id}`);
  return { ...hookPolicy, policy: markChecked(settings, provenance), change: { from, waiting, base } };
}

/** Compares the policy of a hook with that of its session, under the lock of the session. */
export async function applySessionPolicy(
  runtime: Runtime,
  store: CrossProcessStore,
  session: LockedSession,
  hookPolicy: HookPolicy,
): Promise<void> {
  const { policy: recorded } = session.state;
  const { id, inForce, policy, change } = hookPolicy;
  if (recorded === undefined) {
    session.state = { ...session.state, policy: { seen: id, base: id, atMs: Date.now() } };
    if (policy !== undefined && id !== '') await storeSettings(store, id, policy.settings);
    reportLoosening(runtime, session, inForce);
    return;
  }
  const isResolved = change !== undefined && isSame(change.from, recorded);
  if (recorded.seen === id && recorded.base === id) return;
  if (!isResolved) throw new OtherPolicySignal(recorded);
  if (recorded.seen === id) return;
  const { waiting, base } = change;
  session.state = {
    ...session.state,
    policy: { seen: id, base, atMs: waiting.length === 0 ? Date.now() : recorded.atMs },
  };
  if (policy !== undefined && base !== '') await storeSettings(store, base, policy.settings);
  reportChange(runtime, session, hookPolicy, waiting);
}

function isSame(one: SessionPolicy, other: SessionPolicy): boolean {
  return one.seen === other.seen && one.base === other.base && one.atMs === other.atMs;
}

/** Reports once per session what its environment loosens, and once per file what waits for trust. */
function reportLoosening(runtime: Runtime, session: LockedSession, inForce: PolicyInForce | undefined): void {
  if (inForce === undefined) return;
  const { waiting, file = '', digest = '' } = inForce;
  const loosened = listLoosening(inForce);
  for (const { name, value, before } of loosened)
    appendEntry(runtime, { type: 'setting-loosened', name, value, before: String(before) });
  if (loosened.length > 0)
    openNotice(
      runtime,
      session,
      `policy-variables-${runtime.idStem}`,
      loosened.map(({ message }) => message),
    );
  const id = `policy-waits-${digest.slice(0, 16)}`;
  if (waiting.length > 0 && runtime.store.card(id) === undefined)
    openNotice(runtime, session, id, [describeWait(file, waiting, 'loosens more than the defaults')]);
}

function reportChange(
  runtime: Runtime,
  session: LockedSession,
  { id, inForce }: HookPolicy,
  waiting: readonly string[],
) {
  const { file = '' } = inForce ?? {};
  appendEntry(runtime, { type: 'policy-changed', file, waiting });
  const name = file || 'The policy file';
  const how = file === '' ? 'is gone' : 'changed';
  const evidence =
    waiting.length === 0
      ? `${name} ${how} during a session: the session goes on with the policy of now`
      : describeWait(file, waiting, `${how} during a session`);
  openNotice(runtime, session, `policy-changed-${runtime.idStem}-${id.slice(0, 12)}`, [evidence]);
}

function describeWait(file: string, waiting: readonly string[], what: string): string {
  const remedy = file === '' ? 'the next session' : `the next session, or for: switchgear policy trust ${file}`;
  const verb = waiting.length === 1 ? 'waits' : 'wait';
  return `${file || 'The policy file'} ${what}: ${nameSettings(waiting)} ${verb} for ${remedy}`;
}

function openNotice(runtime: Runtime, session: LockedSession, id: string, evidence: readonly string[]): void {
  const card: Card = {
    id,
    kind: 'notice',
    task: session.state.task ?? '',
    code: 'notice',
    counters: {},
    evidence,
    actions: ['dismiss'],
    state: 'open',
  };
  openCard(runtime, card, undefined, runtime.clock.nowMs());
}
