/** Sentences about the policy in force: which file, why it was taken, and what it loosens. */

import { sanitizeText } from '../../operator/format.ts';
import type { PolicyInForce } from './policy-in-force.ts';

/** Settings that a sentence names. */
const namedMax = 6;

/** Names some settings, and counts the others. */
export function nameSettings(paths: readonly string[]): string {
  const named = paths.slice(0, namedMax).map(sanitizeText);
  const more = paths.length - named.length;
  return more > 0 ? `${named.join(', ')} and ${more} more` : named.join(', ');
}

/** Describes the policy in one line: the file, how it was found, and whether it is looser than the defaults. */
export function describePolicy(inForce: PolicyInForce): string {
  const { waiting, looser, loosened } = inForce;
  const variables = loosened.map(({ name }) => name);
  const byVariables = variables.length === 0 ? '' : ` (by ${nameSettings(variables)})`;
  const strictness =
    looser.length === 0
      ? waiting.length === 0
        ? 'not looser than the defaults'
        : describeWaiting(inForce)
      : `looser than the defaults${byVariables}: ${nameSettings(looser)}`;
  const more = looser.length > 0 && waiting.length > 0 ? `; ${describeWaiting(inForce)}` : '';
  return `policy: ${describeOrigin(inForce)}; ${strictness}${more}`;
}

function describeOrigin({ file = '', origin, trust, waiting }: PolicyInForce): string {
  const name = sanitizeText(file);
  switch (origin) {
    case 'none':
      return 'no file found, the defaults hold';
    case 'option':
      return `${name}, given by --policy`;
    case 'variable':
      return `${name}, given by SWITCHGEAR_POLICY`;
    case 'found': {
      const found = `${name}, found ${/[/\\]/.test(file) ? 'above' : 'in'} this folder`;
      if (waiting.length > 0) return `${found}, not trusted`;
      return trust === undefined ? found : `${found}, trusted by ${trust === 'variable' ? 'SWITCHGEAR_TRUST' : 'you'}`;
    }
  }
}

/** The variables that loosen, and what each loosens: single settings, a policy file, or the trust in a found file. */
export function listLoosening(inForce: PolicyInForce): PolicyInForce['loosened'] {
  const { origin, trust, looserFile, loosened, file = '', digest = '' } = inForce;
  const isTrusted = origin === 'found' && trust === 'variable';
  if (looserFile.length === 0 || (origin !== 'variable' && !isTrusted)) return loosened;
  const [name, value] = isTrusted ? ['SWITCHGEAR_TRUST', digest] : ['SWITCHGEAR_POLICY', file];
  const path = nameSettings(looserFile);
  const message = `${name}=${JSON.stringify(sanitizeText(value))} loosens ${path}`;
  return [...loosened, { name, value, path, before: 'the defaults', message }];
}

/** Says which settings wait for trust, and what to type. */
export function describeWaiting({ file = '', waiting }: Pick<PolicyInForce, 'file' | 'waiting'>): string {
  const verb = waiting.length === 1 ? 'loosens and waits' : 'loosen and wait';
  // The file of an earlier start of the run may be gone.
  const remedy = file === '' ? ' the next run' : `: switchgear policy trust ${sanitizeText(file)}`;
  return `${nameSettings(waiting)} ${verb} for${remedy}`;
}
