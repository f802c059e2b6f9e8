/** The command `switchgear prompt`: prints blocks for a system prompt with the numbers of the policy in force. */

import { delegationPolicyPrompt, protocolPrompt } from '../../core/messages/prompts.ts';
import { type Command, exitCodes, readArgs } from '../command.ts';
import { loadEffectivePolicy } from '../policy/load-policy.ts';

export const command: Command = {
  usage: ['prompt [FILE]                    print the system prompt blocks about breakers and delegation'],
  async run(args, terminal) {
    const { positionals } = readArgs(args, [], 1);
    const { settings } = (await loadEffectivePolicy(positionals[0], terminal)).policy;
    terminal.out(protocolPrompt(settings));
    terminal.out(delegationPolicyPrompt(settings.delegation.maxFailures));
    return exitCodes.ok;
  },
};
