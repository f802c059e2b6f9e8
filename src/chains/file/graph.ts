/** A chain as a Mermaid flowchart: steps in their order, conditions as forks, rules beside what they look at. */

import { textOf } from '../../core/controls/rules/lookup.ts';
import { isMatch } from '../../core/glob.ts';
import { shortened } from '../../core/names.ts';
import type { Chain, StepCondition } from './chain.ts';
import { type Shape, shapeOf } from './chain-rules.ts';
import { isAlone } from './condition.ts';

const labelLengthMax = 120;

/** The text of the diagram. Names of nodes are ours; whatever comes from the file stands in quoted labels. */
export function renderGraph(chain: Chain): string {
  const lines = ['flowchart TD', `  start([${label(chain.name ?? chain.id)}])`];
  const entries = chain.steps.map(({ condition }, index) =>
    condition === undefined ? `s${index + 1}` : `c${index + 1}`,
  );
  const after = (index: number) => entries[index + 1] ?? 'done';
  chain.steps.forEach(({ id, ability, outputKey, condition }, index) => {
    const node = `s${index + 1}`;
    if (condition !== undefined) {
      const fork = `c${index + 1}`;
      lines.push(`  ${fork}{${label(conditionText(condition))}}`);
      lines.push(`  ${fork} -- yes --> ${node}`, `  ${fork} -- no --> ${after(index)}`);
    }
    lines.push(`  ${node}[${label(id, ability)}]`);
    lines.push(`  ${node} --${outputKey === undefined ? '' : ` ${label(outputKey)} --`}> ${after(index)}`);
  });
  lines.push('  done([done])', `  start --> ${entries[0] ?? 'done'}`);
  const nodes = nodesOf(chain);
  chain.rules.forEach(({ condition, action }, index) => {
    const note = `r${index + 1}`;
    lines.push(`  ${note}>${label(condition, action)}]`);
    for (const node of nodes(shapeOf(condition))) lines.push(`  ${note} -.- ${node}`);
  });
  return `${lines.join('\n')}\n`;
}

/** What a rule looks at: the steps it names, the step that outputs its key, or the whole chain. */
function nodesOf(chain: Chain): (shape: Shape | undefined) => readonly string[] {
  const byKey = new Map(chain.steps.map(({ outputKey }, index) => [outputKey, `s${index + 1}`]));
  const byAbility = new Map<string, string[]>();
  chain.steps.forEach(({ ability }, index) => {
    const nodes = byAbility.get(ability) ?? [];
    byAbility.set(ability, nodes);
    nodes.push(`s${index + 1}`);
  });
  return (shape) => {
    const [part = ''] = shape?.parts ?? [];
    const found =
      shape?.kind === 'ability'
        ? [...byAbility].flatMap(([ability, nodes]) => (isMatch(part, ability) ? nodes : []))
        : shape?.kind === 'frequency'
          ? []
          : [byKey.get(part.split('.', 1)[0])].filter((node) => node !== undefined);
    return found.length > 0 ? found : ['start'];
  };
}

function conditionText({ refKey, op, value }: StepCondition): string {
  return isAlone(op) ? `${refKey} ${op}` : `${refKey} ${op} ${textOf(value) ?? ''}`;
}

/** Quoted lines; signs that Mermaid could take for its own are written as their numbers. */
function label(...lines: readonly string[]): string {
  const safe = lines.map((line) => {
    return shortened(line, labelLengthMax).replace(
      /[^\p{L}\p{N} _.,:/$*()+=?!@…-]/gu,
      (sign) => `#${sign.codePointAt(0)};`,
    );
  });
  return `"${safe.join('<br/>')}"`;
}
