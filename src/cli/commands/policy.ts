/** `switchgear policy`: is it right, what does it say, how may it look. */

import { SwitchgearError } from '../../core/error.ts';
import { explainPolicy, listAdvice, policySchema, settingsReference } from '../../policy/index.ts';
import { type Command, exitCodes, readArgs, type Terminal, usageError } from '../command.ts';
import { loadEffectivePolicy, loadWrittenPolicy } from '../policy-option.ts';

export const command: Command = {
  usage: [
    'policy check [FILE]              say whether a policy file is right, and everything that is not',
    'policy explain [FILE] [--json]   print every setting in force here and who said it',
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
        throw usageError(
          verb === undefined ? 'policy: say check, explain, schema or reference' : `policy: unknown word ${verb}`,
        );
    }
  },
};

function checkPolicyFile(args: readonly string[], terminal: Terminal): number {
  const { positionals } = readArgs(args, [], 1);
  const { policy, file } = loadWrittenPolicy(positionals[0], terminal);
  if (file === undefined)
    throw new SwitchgearError(
      'policy_missing',
      'there is no policy file here: looked for switchgear.toml, .yaml, .yml, .json',
    );
  terminal.out(`${file} is right.`);
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
  if (file === undefined) terminal.out('There is no policy file here: these are the defaults.\n');
  for (const line of explainPolicy(policy)) terminal.out(line);
  return exitCodes.ok;
}
