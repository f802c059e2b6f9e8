/** The command `switchgear demo`: shows how runaway agents are stopped, offline. */

import { playDemo } from '../../demo/play.ts';
import { type Command, exitCodes, readArgs } from '../command.ts';

export const command: Command = {
  usage: ['demo                             show how runaway agents are stopped; needs no network and no API key'],
  async run(args, terminal) {
    readArgs(args, [], 0);
    return (await playDemo(terminal.out, terminal.coloured === true, terminal.stopSignal))
      ? exitCodes.ok
      : exitCodes.error;
  },
};
