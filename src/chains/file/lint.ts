/** Warns about parts of a chain that are valid and likely mistakes: rules that always or never fire, program text. */

import { readKey } from '../../core/controls/rules/read-key.ts';
import { isMatch } from '../../core/glob.ts';
import type { Path } from '../../core/names.ts';
import type { RuleSettings } from '../../core/settings.ts';
import type { SourcePosition } from '../../document/parsed-document.ts';
import type { Chain } from './chain.ts';
import { parseConditionTemplate } from './chain-rules.ts';
import { makeProblem, type Problem } from './problem.ts';
import { collectNames } from './template.ts';

const actionVerbs: Readonly<Record<string, string>> = { abort: 'abort', confirm: 'ask', throttle: 'throttle' };

/** Returns warnings about the rules and steps of a chain; `settings` apply where the chain sets nothing. */
export function lintChain(
  chain: Chain,
  positionOf: (path: Path) => SourcePosition,
  settings: Partial<Pick<RuleSettings, 'onMissing' | 'lookup'>> = {},
): readonly Problem[] {
  return [...lintRules(chain, positionOf, settings), ...lintShell(chain, positionOf)];
}

/** Warns if a value is filled into a command line: the value can add commands. */
function lintShell({ steps }: Chain, positionOf: (path: Path) => SourcePosition): readonly Problem[] {
  return steps.flatMap(({ ability, args: { command, args } }, index) => {
    if (ability !== 'shell.execute') return [];
    const warn = (name: string | undefined, ...path: Path) =>
      name === undefined
        ? []
        : [makeProblem(positionOf(path), path, `makes {{${name}}} part of a program: ${suggestEnv(name)}`)];
    const at = ['steps', index, 'args'];
    const list: readonly unknown[] = Array.isArray(args) ? args : [];
    const script = /(^|\/)(ba|da|k|z)?sh$/.test(String(command)) ? 1 + list.indexOf('-c') : 0;
    return [
      ...warn(collectNames(command)[0], ...at, 'command'),
      ...(script > 0 ? warn(collectNames(list[script])[0], ...at, 'args', script) : []),
    ];
  });
}

function suggestEnv(name: string): string {
  return `pass the value in env, as in env: { VALUE: "{{${name}}}" } with "$VALUE" in the command, or as one of args`;
}

function lintRules(
  chain: Chain,
  positionOf: (path: Path) => SourcePosition,
  settings: Partial<Pick<RuleSettings, 'onMissing' | 'lookup'>>,
): readonly Problem[] {
  const effective = { onMissing: 'fire', lookup: ['outputs'], ...settings, ...chain.ruleSettings } as const;
  return chain.rules.flatMap(({ condition, action }, index) => {
    const path = ['circuit_breakers', index, 'condition'];
    const template = parseConditionTemplate(condition);
    const [key = ''] = template?.parts ?? [];
    if (template === undefined || key.includes('{{')) return [];
    const warning =
      template.kind === 'threshold'
        ? lintThreshold(chain, key, actionVerbs[action] ?? action, effective)
        : template.kind === 'ability'
          ? lintAbility(chain, key)
          : template.kind === 'output'
            ? lintOutput(chain, key)
            : undefined;
    return warning === undefined ? [] : [makeProblem(positionOf(path), path, warning)];
  });
}

function lintThreshold(
  chain: Chain,
  key: string,
  verb: string,
  { onMissing, lookup }: Pick<RuleSettings, 'onMissing' | 'lookup'>,
): string | undefined {
  const producer = findProducer(chain, key);
  const hasKey = (args: unknown) => readKey(args, key).kind === 'value';
  if (lookup.includes('params') && chain.params.some(({ name }) => name === key)) return undefined;
  const byOutput = lookup.includes('outputs') && producer >= 0;
  if (onMissing === 'pending') {
    if (byOutput || (lookup.includes('args') && chain.steps.some(({ args }) => hasKey(args)))) return undefined;
    return `can never fire: ${explainMissing(key, lookup)}`;
  }
  const first = chain.steps.findIndex(({ args }, index) => {
    return !(byOutput && producer < index) && !(lookup.includes('args') && hasKey(args));
  });
  const step = chain.steps[first];
  if (step === undefined) return undefined;
  const before = `will ${verb} before step ${first + 1} (${step.id})`;
  if (byOutput)
    return `${before}: ${key} is output by ${chain.steps[producer]?.id} only; on_missing: pending waits for it`;
  const carrier = chain.steps.find(({ args }) => hasKey(args));
  const hint = carrier && `; lookup: [outputs, args] with on_missing: pending looks at the arguments of ${carrier.id}`;
  return `${before}: no step outputs ${key}${hint ?? ''}`;
}

function explainMissing(key: string, lookup: RuleSettings['lookup']): string {
  return lookup.includes('args') ? `no step outputs ${key} or has it in its arguments` : `no step outputs ${key}`;
}

function lintOutput(chain: Chain, key: string): string | undefined {
  return findProducer(chain, key) >= 0 ? undefined : `can never fire: no step outputs ${key}`;
}

function lintAbility(chain: Chain, pattern: string): string | undefined {
  if (chain.steps.some(({ ability }) => isMatch(pattern, ability))) return undefined;
  return `can never fire: no step calls ${pattern}`;
}

/** The index of the step that outputs the key, or whose output the key is a path into; -1 if there is none. */
function findProducer(chain: Chain, key: string): number {
  return chain.steps.findIndex(({ outputKey }) => {
    return outputKey !== undefined && (key === outputKey || key.startsWith(`${outputKey}.`));
  });
}
