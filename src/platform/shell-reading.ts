/** What a reader of shell scripts reports and keeps: commands, counts, and the outputs that it knows. */

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
  /** The outputs of process substitutions, by their paths. */
  readonly outputs: Map<string, string>;
  commands: number;
  characters: number;
  isComplete: boolean;
}
