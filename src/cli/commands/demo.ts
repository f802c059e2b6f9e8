/** `switchgear demo`: agents that spiral in several ways and are stopped each time, offline. */

import { playDemo } from '../../demo/play.ts';
import { type Command, exitCodes, readArgs } from '../command.ts';

export const command: Command = {
  usage: ['demo                             watch agents spiral and be stopped; needs no network and no key'],
  async run(args, terminal) {
    readArgs(args, [], 0);
    return (await playDemo(terminal.out, terminal.coloured === true, terminal.stopSignal))
      ? exitCodes.ok
      : exitCodes.error;
  },
};
