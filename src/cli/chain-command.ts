/** `switchgear chain`: runs chain files, and looks at runs, checks and draws them. */

import { type Command, type Terminal, usageError } from './command.ts';

type Verb = (args: readonly string[], terminal: Terminal) => number | Promise<number>;

/** Each verb in a file that is read only when it is meant. */
const verbs: Readonly<Record<string, () => Promise<Verb>>> = {
  run: async () => (await import('./chain-run.ts')).runChain,
  resume: async () => (await import('./chain-run.ts')).resumeChain,
  list: async () => (await import('./chain-runs.ts')).listChains,
  show: async () => (await import('./chain-runs.ts')).showChain,
  cancel: async () => (await import('./chain-runs.ts')).cancelChain,
  resolve: async () => (await import('./chain-runs.ts')).resolveChain,
  lint: async () => (await import('./chain-files.ts')).lintChains,
  graph: async () => (await import('./chain-files.ts')).graphChain,
};

export const command: Command = {
  usage: [
    'chain run FILE [--param K=V]...  run a chain [--mcp FILE] [--plan FILE] [--explain] [--no-wait] [--id ID]',
    'chain resume ID                  go on with a run that was cut off, waits for an answer, or was throttled',
    'chain list [--all]               list runs that are not over, or all',
    'chain show ID [--outputs]        show what happened in a run, step by step',
    'chain cancel ID                  stop a run, wherever it runs',
    'chain resolve ID done|redo       say whether a step in doubt was done [--output JSON]',
    'chain lint FILE...               say everything that is wrong with chain files, or looks wrong',
    'chain graph FILE                 print a chain as a Mermaid diagram',
  ],
  async run([verb, ...args], terminal) {
    const load = verb !== undefined && Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
    if (load === undefined) {
      const known = Object.keys(verbs).join(', ');
      throw usageError(verb === undefined ? `chain: say ${known}` : `chain: unknown word ${verb}; there are ${known}`);
    }
    return (await load())(args, terminal);
  },
};
