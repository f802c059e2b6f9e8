/** Parses the `<nyaya>` block that a model writes beside its plan: `D:` domain, `G:` goals, `B:` rules, other lines. */

import { nyayaLengthMax, nyayaLinesMax } from '../../limits.ts';
import { parseFailure } from './condition.ts';
import { parseRule, type Rule } from './rule.ts';

/** A parsed block. */
export interface Nyaya {
  readonly lines: { readonly domain?: string; readonly goals?: string; readonly other: readonly string[] };
  /** The model's rules, for the given target. */
  readonly rules: readonly Rule[];
  /** Unreadable lines. Each may be a lost rule, so the program that runs the plan must refuse a plan with errors. */
  readonly errors: readonly string[];
}

/** Parses the last closed block. Without a target its rules are for `*`, which no rule set accepts from a model. */
export function parseNyaya(text: string, target = '*'): Nyaya {
  const { block, errors } = lastBlock(text);
  const lines: { domain?: string; goals?: string; other: string[] } = { other: [] };
  const rules: Rule[] = [];
  const blockLines = block.split('\n', nyayaLinesMax + 1);
  if (blockLines.length > nyayaLinesMax) errors.push(`a <nyaya> block has at most ${nyayaLinesMax} lines`);
  for (const raw of blockLines.slice(0, nyayaLinesMax)) {
    const line = raw.trim();
    const rule = /^[-*>`\s]*b\s*:/i.exec(line); // Also in a list, and in lower case.
    if (rule !== null) {
      const parsed = parseRule(line.slice(rule[0].length), { target, origin: 'model' });
      if (parsed.rule) rules.push(parsed.rule);
      else errors.push(`B: line: ${parsed.error}`);
    } else if (line.startsWith('D:')) lines.domain = line.slice(2).trim();
    else if (line.startsWith('G:')) lines.goals = line.slice(2).trim();
    else if (line !== '') lines.other.push(line);
  }
  return { lines, rules, errors };
}

/** A block ends at its first closing tag; an opening tag inside a block is ignored. */
function lastBlock(text: string): { block: string; errors: string[] } {
  if (typeof text !== 'string')
    return { block: '', errors: [parseFailure('a <nyaya> block must be text', text).error] };
  let block = '';
  let start = -1;
  for (const tag of text.matchAll(/<\/?nyaya>/gi)) {
    const closes = tag[0][1] === '/';
    if (!closes && start < 0) start = tag.index + tag[0].length;
    if (!closes || start < 0) continue;
    block = text.slice(start, tag.index);
    start = -1;
  }
  const errors: string[] = [];
  if (start >= 0) errors.push('a <nyaya> block is not closed');
  if (block.length > nyayaLengthMax) {
    errors.push(`a <nyaya> block has at most ${nyayaLengthMax} characters, got ${block.length}`);
    block = '';
  }
  return { block: block.replace(/<nyaya>/gi, '\n'), errors };
}
