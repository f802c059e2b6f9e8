/** The command `switchgear demo`: shows how runaway agents are stopped, offline. */

import { playDemo } from '../../demo/play.ts';
import { type Command, exitCodes, readArgs } from '../command.ts';

export const command: Command = {
  usage: ['demo                             show how runaway agents are stopped; needs no network and no API key'],
  async run(args, terminal) {
    readArgs(args, [], 0);
    const isAsExpected = await playDemo(terminal.out, terminal.coloured === true, terminal.stopSignal);
    // A demo that was stopped has shown nothing wrong; the process has the code of what stopped it.
    return isAsExpected || terminal.stopSignal?.aborted ? exitCodes.ok : exitCodes.error;
  },
};
