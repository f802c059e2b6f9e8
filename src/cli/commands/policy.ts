/** The command `switchgear policy`: checks, explains and trusts policy files, prints their schema and reference. */

import { defaultSettings } from '../../core/controls/defaults.ts';
import { readWrittenPolicy, requirePolicy } from '../../policy/file/written-policy.ts';
import { explainPolicy, listAdvice, policySchema, settingsReference } from '../../policy/index.ts';
import { tightenSettings } from '../../policy/trust/tighten-settings.ts';
import { readTrust } from '../../policy/trust/trusted-files.ts';
import { type Command, exitCodes, readArgs, type Terminal, verbError } from '../command.ts';
import { describePolicy, nameSettings } from '../policy/describe-policy.ts';
import { loadEffectivePolicy, placeOfCommand } from '../policy/load-policy.ts';
import { findTrustFolder } from '../policy/trust-folder.ts';

export const command: Command = {
  usage: [
    'policy check [FILE]              check a policy file; print its errors, or its digest and what it loosens',
    'policy explain [FILE] [--json]   print every setting in force here and where it was set',
    'policy init [--preset NAME]      write switchgear.toml with every setting as a comment',
    'policy trust [FILE]              allow what this content of a policy file loosens; --undo takes it back',
    'policy schema                    print the JSON Schema of policy files',
    'policy reference                 print the reference page of settings',
  ],
  details: [
    '',
    'Stricter settings in the policy file of a folder are in force at once. Looser settings are in force after you',
    'trust the file: run policy trust, or set SWITCHGEAR_TRUST=DIGEST in containers and CI. A file given by --policy',
    'or SWITCHGEAR_POLICY needs no trust. policy trust takes --store STORE, and refuses to run below a guarded agent.',
  ],
  async run([verb, ...args], terminal) {
    switch (verb) {
      case 'check':
        return checkPolicyFile(args, terminal);
      case 'explain':
        return explainPolicyFile(args, terminal);
      case 'init': {
        const { writePolicyStarter } = await import('./policy-init.ts');
        return writePolicyStarter(args, terminal);
      }
      case 'trust': {
        const { trustPolicyFile } = await import('./policy-trust.ts');
        return trustPolicyFile(args, terminal);
      }
      case 'schema':
        readArgs(args, [], 0);
        terminal.out(JSON.stringify(policySchema(), null, 2));
        return exitCodes.ok;
      case 'reference':
        readArgs(args, [], 0);
        terminal.out(settingsReference().trimEnd());
        return exitCodes.ok;
      default:
        throw verbError('policy', ['check', 'explain', 'init', 'trust', 'schema', 'reference'], verb);
    }
  },
};

async function checkPolicyFile(args: readonly string[], terminal: Terminal): Promise<number> {
  const { positionals } = readArgs(args, [], 1);
  const { policy, file, digest } = requirePolicy(readWrittenPolicy(positionals[0], terminal));
  terminal.out(`OK: ${file}`);
  const { waiting } = tightenSettings(defaultSettings, policy.settings);
  if (waiting.length > 0) {
    const folder = await findTrustFolder(terminal, placeOfCommand(terminal));
    const isTrusted = readTrust(digest, folder) !== undefined;
    terminal.out(`looser than the defaults: ${nameSettings(waiting)}`);
    terminal.out(isTrusted ? 'trusted by you' : `to allow it where it is found: switchgear policy trust ${file}`);
  }
  terminal.out(`digest: ${digest}`);
  for (const line of listAdvice(policy.settings)) terminal.out(`advice: ${line}`);
  return exitCodes.ok;
}

async function explainPolicyFile(args: readonly string[], terminal: Terminal): Promise<number> {
  const { positionals, switches } = readArgs(args, ['--json'], 1);
  const inForce = await loadEffectivePolicy(positionals[0], terminal);
  const { policy, file, origin, digest, waiting, looser } = inForce;
  if (switches.has('--json')) {
    const settings = [...policy.provenance].map(([path, value]) => ({ path, ...value }));
    const advice = listAdvice(policy.settings);
    const shown = { file: file ?? null, origin, digest: digest ?? null, waiting, looser, settings, advice };
    terminal.out(JSON.stringify(shown, null, 2));
    return exitCodes.ok;
  }
  terminal.out(`${describePolicy(inForce)}\n`);
  for (const line of explainPolicy(policy)) terminal.out(line);
  return exitCodes.ok;
}
