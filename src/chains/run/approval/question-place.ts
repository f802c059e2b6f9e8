/** Where a question is asked: the file of the chain, the step, and what its ability resolves to. */

import { digestWithSecret } from '../../../guard/internal.ts';
import type { Store } from '../../../ports/store.ts';
import { realPath } from '../../abilities/program-identity.ts';
import type { ParamValues } from '../../file/chain.ts';
import { collectNames, fillTemplates } from '../../file/template.ts';
import type { RunState } from '../state/run-state.ts';
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
  /** The parameters that the step uses, or all of them for the run as a whole. */
  readonly params: ParamValues;
}

/** Reads the place of the current question. */
export async function readPlace({ run, question }: ActiveRun): Promise<QuestionPlace> {
  const { step, identify } = question.subject;
  const { chain, origin } = run;
  return {
    file: origin && realPath(origin),
    chain: chain.id,
    step,
    ability: await identify(),
    params: pickParams(run, step),
  };
}

/** The parameters that the arguments of a step name. */
function pickParams({ chain, params }: RunState, id: string): ParamValues {
  const step = chain.steps.find((each) => each.id === id);
  if (step === undefined) return params;
  const names = new Set(collectNames(step.args).map((name) => name.split('.')[0]));
  return Object.fromEntries(Object.entries(params).filter(([name]) => names.has(name)));
}

/** The digests of what the steps of a run resolve to now, by step; their arguments are filled by parameters only. */
export async function digestSteps({ run, abilities, store }: ActiveRun): Promise<Readonly<Record<string, string>>> {
  const digests = run.chain.steps.map(async ({ id, ability, args }) => {
    const identity = await abilities.get(ability)?.identify?.(fillKnown(args, run));
    return [id, digestIdentity(store, identity)] as const;
  });
  return Object.fromEntries(await Promise.all(digests));
}

/** The digest of a resolved ability. */
export function digestIdentity(store: Store, identity: unknown): string {
  return digestWithSecret(store, identity) ?? '';
}

/** The arguments with the values of parameters; those that wait for outputs stay as they are written. */
function fillKnown<T>(args: T, { params, chain }: RunState): T {
  const outputs = new Set(chain.steps.map(({ outputKey }) => outputKey));
  const fill = (value: unknown): unknown => {
    if (typeof value === 'string') {
      const isKnown = collectNames(value).every((name) => !outputs.has(name.split('.')[0]!));
      return isKnown ? fillTemplates(value, { params, outputs: {} }) : value;
    }
    if (Array.isArray(value)) return value.map(fill);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, fill(each)]));
  };
  try {
    return fill(args) as T;
  } catch {
    return args; // A name without a value: the step itself reports it.
  }
}
