/** Loads the policy file that a program names, or the one that the search of the command finds. */

import { stateFolder, userStateFolder } from '../../platform/state-folder.ts';
import { backgroundOf, type CheckedPolicy, type IgnoredPart, markChecked } from '../check/check-policy.ts';
import { parsePolicy, readPolicyText } from './files.ts';
import { type HeldPolicy, holdPolicy, readWrittenPolicy } from './written-policy.ts';

/**
 * Reads and checks a policy file: TOML, YAML or JSON by its extension. Messages call it `name`. Without a path it is
 * the file that `SWITCHGEAR_POLICY` names, else the one that is found in the working folder or above it, up to the root
 * of the repository; what a found file loosens holds once a person trusts it (`switchgear policy trust`). Without any
 * file the defaults hold.
 * @example
 * import { createSwitchgear } from 'switchgear';
 * import { loadPolicy } from 'switchgear/policy';
 *
 * const gear = createSwitchgear({ policy: loadPolicy() });
 */
export function loadPolicy(path?: string, name: string | undefined = path): CheckedPolicy {
  if (path === undefined || name === undefined) return loadFoundPolicy();
  return parsePolicy(readPolicyText(path), name);
}

function loadFoundPolicy(): CheckedPolicy {
  const { env } = process;
  const written = readWrittenPolicy(undefined, { cwd: process.cwd(), env }, env.SWITCHGEAR_POLICY || undefined);
  const trustFolders = [...new Set([stateFolder(env), userStateFolder({ env })])];
  const held = holdPolicy(written, trustFolders, () => env.SWITCHGEAR_TRUST);
  const { settings, provenance } = held.policy;
  return markChecked(settings, provenance, {
    ...backgroundOf(held.policy),
    project: held.folder,
    ignored: describeWaiting(held),
    loosened: listLoosening(held),
  });
}

function describeWaiting({ waiting, file = '' }: HeldPolicy): readonly IgnoredPart[] {
  if (waiting.length === 0) return [];
  const verb = waiting.length === 1 ? 'loosens and waits' : 'loosen and wait';
  const message = `${file}: ${waiting.join(', ')} ${verb} for: switchgear policy trust ${file}`;
  return [{ name: waiting.join(', '), value: file, used: 'the stricter value of each', message }];
}

/** The variable that names or trusts a file which loosens. */
function listLoosening({ origin, trust, looserFile, file = '', digest = '' }: HeldPolicy) {
  if (looserFile.length === 0) return [];
  const before = 'the defaults';
  if (origin === 'variable') return [{ name: 'SWITCHGEAR_POLICY', value: file, before }];
  return trust === 'variable' ? [{ name: 'SWITCHGEAR_TRUST', value: digest, before }] : [];
}
