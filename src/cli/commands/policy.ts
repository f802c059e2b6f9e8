/** The command `switchgear policy`: checks and explains policy files, prints their schema and reference. */

import { SwitchgearError } from '../../core/error.ts';
import { explainPolicy, listAdvice, policySchema, settingsReference } from '../../policy/index.ts';
import { type Command, exitCodes, readArgs, type Terminal, verbError } from '../command.ts';
import { loadEffectivePolicy, loadWrittenPolicy } from '../policy-option.ts';

export const command: Command = {
  usage: [
    'policy check [FILE]              check a policy file and print all its errors',
    'policy explain [FILE] [--json]   print every setting in force here and where it was set',
    'policy schema                    print the JSON Schema of policy files',
    'policy reference                 print the reference page of settings',
  ],
  run([verb, ...args], terminal) {
    switch (verb) {
      case 'check':
        return checkPolicyFile(args, terminal);
      case 'explain':
        return explainPolicyFile(args, terminal);
      case 'schema':
        readArgs(args, [], 0);
        terminal.out(JSON.stringify(policySchema(), null, 2));
        return exitCodes.ok;
      case 'reference':
        readArgs(args, [], 0);
        terminal.out(settingsReference().trimEnd());
        return exitCodes.ok;
      default:
        throw verbError('policy', ['check', 'explain', 'schema', 'reference'], verb);
    }
  },
};

function checkPolicyFile(args: readonly string[], terminal: Terminal): number {
  const { positionals } = readArgs(args, [], 1);
  const { policy, file } = loadWrittenPolicy(positionals[0], terminal);
  if (file === undefined)
    throw new SwitchgearError('policy_missing', 'no policy file found: looked for switchgear.toml, .yaml, .yml, .json');
  terminal.out(`OK: ${file}`);
  for (const line of listAdvice(policy.settings)) terminal.out(`advice: ${line}`);
  return exitCodes.ok;
}

function explainPolicyFile(args: readonly string[], terminal: Terminal): number {
  const { positionals, switches } = readArgs(args, ['--json'], 1);
  const { policy, file } = loadEffectivePolicy(positionals[0], terminal);
  if (switches.has('--json')) {
    const settings = [...policy.provenance].map(([path, origin]) => ({ path, ...origin }));
    terminal.out(JSON.stringify({ file: file ?? null, settings, advice: listAdvice(policy.settings) }, null, 2));
    return exitCodes.ok;
  }
  if (file === undefined) terminal.out('No policy file found; these are the defaults.\n');
  for (const line of explainPolicy(policy)) terminal.out(line);
  return exitCodes.ok;
}
