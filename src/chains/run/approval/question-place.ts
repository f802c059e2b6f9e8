/** Where a question is asked: the file of the chain, the step, and what its ability resolves to. */

import { digestWithSecret } from '../../../guard/internal.ts';
import { realPath } from '../../abilities/program-identity.ts';
import type { ActiveRun } from '../storage/active-run.ts';

/** The place of a question; an approval holds nowhere else. */
export interface QuestionPlace {
  /** The real path of the chain file; undefined for a chain from code. */
  readonly file: string | undefined;
  readonly chain: string;
  /** Empty for the run as a whole. */
  readonly step: string;
  /** The resolved server or program, as plain data. */
  readonly ability: unknown;
}

/** Reads the place of the current question. */
export async function readPlace({ run, question }: ActiveRun): Promise<QuestionPlace> {
  const { step, identify } = question.subject;
  return { file: run.origin && realPath(run.origin), chain: run.chain.id, step, ability: await identify() };
}

/** The digests of what the abilities of a run resolve to now, by name. */
export async function digestAbilities({ abilities, store }: ActiveRun): Promise<Readonly<Record<string, string>>> {
  const digests = [...abilities.values()].map(
    async ({ name, identify }) => [name, digestWithSecret(store, await identify?.({})) ?? ''] as const,
  );
  return Object.fromEntries(await Promise.all(digests));
}
