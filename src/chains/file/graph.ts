/** Prints a chain as a Mermaid flowchart: steps in order, conditions as forks, rules beside their steps. */

import { stringifyValue } from '../../core/controls/rules/read-key.ts';
import { isMatch } from '../../core/glob.ts';
import { shorten } from '../../core/names.ts';
import type { Chain, StepCondition } from './chain.ts';
import { type ConditionTemplate, parseConditionTemplate } from './chain-rules.ts';
import { isUnary } from './condition.ts';

const labelLengthMax = 120;

/** The text of the diagram. Node names are generated; every text from the file is in a quoted label. */
export function renderGraph(chain: Chain): string {
  const lines = ['flowchart TD', `  start([${formatLabel(chain.name ?? chain.id)}])`];
  const entries = chain.steps.map(({ condition }, index) =>
    condition === undefined ? `s${index + 1}` : `c${index + 1}`,
  );
  const nodeAfter = (index: number) => entries[index + 1] ?? 'done';
  chain.steps.forEach(({ id, ability, outputKey, condition }, index) => {
    const node = `s${index + 1}`;
    if (condition !== undefined) {
      const fork = `c${index + 1}`;
      lines.push(`  ${fork}{${formatLabel(formatCondition(condition))}}`);
      lines.push(`  ${fork} -- yes --> ${node}`, `  ${fork} -- no --> ${nodeAfter(index)}`);
    }
    lines.push(`  ${node}[${formatLabel(id, ability)}]`);
    lines.push(`  ${node} --${outputKey === undefined ? '' : ` ${formatLabel(outputKey)} --`}> ${nodeAfter(index)}`);
  });
  lines.push('  done([done])', `  start --> ${entries[0] ?? 'done'}`);
  const nodes = indexRuleNodes(chain);
  chain.rules.forEach(({ condition, action }, index) => {
    const note = `r${index + 1}`;
    lines.push(`  ${note}>${formatLabel(condition, action)}]`);
    for (const node of nodes(parseConditionTemplate(condition))) lines.push(`  ${note} -.- ${node}`);
  });
  return `${lines.join('\n')}\n`;
}

/** The subject of a rule: the steps it names, the step that outputs its key, or the whole chain. */
function indexRuleNodes(chain: Chain): (template: ConditionTemplate | undefined) => readonly string[] {
  const byKey = new Map(chain.steps.map(({ outputKey }, index) => [outputKey, `s${index + 1}`]));
  const byAbility = new Map<string, string[]>();
  chain.steps.forEach(({ ability }, index) => {
    const nodes = byAbility.get(ability) ?? [];
    byAbility.set(ability, nodes);
    nodes.push(`s${index + 1}`);
  });
  return (template) => {
    const [part = ''] = template?.parts ?? [];
    const found =
      template?.kind === 'ability'
        ? [...byAbility].flatMap(([ability, nodes]) => (isMatch(part, ability) ? nodes : []))
        : template?.kind === 'frequency'
          ? []
          : [byKey.get(part.split('.', 1)[0])].filter((node) => node !== undefined);
    return found.length > 0 ? found : ['start'];
  };
}

function formatCondition({ refKey, op, value }: StepCondition): string {
  return isUnary(op) ? `${refKey} ${op}` : `${refKey} ${op} ${stringifyValue(value) ?? ''}`;
}

/** Quotes lines; characters with a meaning in Mermaid are written as character codes. */
function formatLabel(...lines: readonly string[]): string {
  const safe = lines.map((line) => {
    return shorten(line, labelLengthMax).replace(
      /[^\p{L}\p{N} _.,:/$*()+=?!@…-]/gu,
      (sign) => `#${sign.codePointAt(0)};`,
    );
  });
  return `"${safe.join('<br/>')}"`;
}
