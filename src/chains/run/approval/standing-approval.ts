/** A standing approval of steps of a chain. */
export interface StandingApproval {
  readonly id: string;
  readonly chain: string;
  /** The step that the approval was given for; empty for the run as a whole. */
  readonly step: string;
  /** The real path of the chain file; absent for a chain from code. */
  readonly file?: string;
  /** The redacted rules that asked; the id is a hash that includes the filled parameters. */
  readonly rules: readonly string[];
  readonly by: string;
  readonly givenWallMs: number;
}
