/** The command `switchgear prompt`: prints blocks for a system prompt with the settings in force. */

import { listPrompts } from '../../core/messages/limits-prompt.ts';
import { type Command, exitCodes, readArgs } from '../command.ts';
import { loadEffectivePolicy } from '../policy/load-policy.ts';

export const command: Command = {
  usage: ['prompt [FILE]                    print the limits in force as blocks for the system prompt of an agent'],
  async run(args, terminal) {
    const { positionals } = readArgs(args, [], 1);
    const { settings } = (await loadEffectivePolicy(positionals[0], terminal)).policy;
    const blocks = listPrompts(settings);
    for (const block of blocks) terminal.out(block);
    if (blocks.length === 0)
      terminal.err('switchgear: mode is "observe": nothing is refused, so an agent needs no prompt');
    return exitCodes.ok;
  },
};
