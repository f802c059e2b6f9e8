/** What a reader of shell scripts reports and keeps: commands, counts, and the outputs that it knows. */

import { resolve } from 'node:path';
import { shellTextMax } from '../core/limits.ts';

/** A simple command. Variables with known values are replaced; others stay as they are. */
export interface ShellCommand {
  /** The program and its arguments, without wrappers such as `env` and `sudo`. */
  readonly words: readonly string[];
  /** The files that the command writes by redirection. */
  readonly writes: readonly string[];
  /** The folders that the command may run in; absolute paths. */
  readonly folders: readonly string[];
  /** The text that the command reads, if it is known. */
  readonly input: string | undefined;
  /** The variables that the command is given in front of it or by `env`. */
  readonly assigned: readonly (readonly [name: string, value: string])[];
  /** The possible values of a variable that the script has set. */
  variable(name: string): readonly string[];
  /** The content of a file that the script itself writes, or of a process substitution. */
  readText(path: string): string | undefined;
  /** Reads a further script that the command runs. */
  run(script: string): void;
}

/** Called for each command; returns the output of the command if it is known. */
export type VisitCommand = (command: ShellCommand) => string | undefined;

export interface ShellPlace {
  readonly cwd: string;
  readonly variables: Readonly<Record<string, string | undefined>>;
}

/** The state of one reading, over all nested scripts. */
export interface Reading {
  readonly visit: VisitCommand;
  readonly environment: ShellPlace['variables'];
  /** The folders that earlier commands made. */
  readonly made: Set<string>;
  /** The outputs of process substitutions and of commands whose output goes to a file, by their paths. */
  readonly outputs: Map<string, string>;
  commands: number;
  characters: number;
  isComplete: boolean;
}

/** Remembers the output that goes to files: a later command may run them. */
export function recordOutput(
  { outputs }: Reading,
  folders: readonly string[],
  paths: readonly string[],
  text: string | undefined,
): void {
  if (text === undefined || text === '') return;
  for (const path of paths) {
    for (const folder of folders) {
      const place = resolve(folder, path);
      outputs.set(place, ((outputs.get(place) ?? '') + text).slice(0, shellTextMax));
    }
  }
}

/** The recorded content of a file, in any of the folders that a command may run in. */
export function findRecordedOutput({ outputs }: Reading, folders: readonly string[], path: string): string | undefined {
  if (outputs.size === 0) return undefined;
  return folders.map((folder) => outputs.get(resolve(folder, path))).find((text) => text !== undefined);
}

/** The known parts of two outputs; undefined if one is unknown and the other is empty. */
export function joinOutputs(one: string | undefined, other: string | undefined): string | undefined {
  const joined = (one ?? '') + (other ?? '');
  return joined === '' && (one === undefined || other === undefined) ? undefined : joined;
}
