/**
 * Whom a rule is for, as text:
 * `*` everything · `chain:<id>` one chain · `tool:<glob>` tools and abilities · `agent:<glob>` agents by name ·
 * a bare word: the chain of that id and, outside chains, the tool of that name, so that it never means nothing.
 * No chain id holds a star, so a bare word with one is a tool glob.
 */

import { isMatch } from '../../glob.ts';
import { nameLengthMax } from '../../limits.ts';

/** What a rule may be about; `chain` is set inside chains only. */
export interface RuleSubject {
  readonly tool?: string | undefined;
  readonly agent?: string | undefined;
  readonly chain?: string | undefined;
}

const namedTarget = /^(?:chain:[^*]+|tool:.+|agent:.+|[^:]+)$/;

/** The target in its one spelling, or undefined where nobody can be meant. */
export function parseTarget(text: unknown): string | undefined {
  if (typeof text !== 'string' || text.length > nameLengthMax || /[|"\p{Cc}]/u.test(text)) return undefined;
  const target = text.trim().replace(/^(chain|tool|agent):\s+/, '$1:');
  if (target === '*') return target;
  if (!namedTarget.test(target)) return undefined;
  return target.includes('*') && !target.includes(':') ? `tool:${target}` : target;
}

/** Whether a rule with this target looks at the subject. */
export function isFor(target: string, subject: RuleSubject): boolean {
  if (target === '*') return true;
  const { tool, agent, chain } = subject;
  const colon = target.indexOf(':');
  if (colon < 0) return target === (chain ?? tool);
  const name = target.slice(colon + 1);
  if (target.startsWith('chain:')) return name === chain;
  const actual = target.startsWith('tool:') ? tool : agent;
  return actual !== undefined && isMatch(name, actual);
}

/** Whether the target singles the tool out, so that the rule's author knew what its calls carry. */
export function namesTool(target: string, tool: string): boolean {
  if (target.startsWith('tool:')) return /[^*]/.test(target.slice(5)) && isMatch(target.slice(5), tool);
  return target === tool && target !== '*';
}

/** Whether the target is one chain or one agent: all that a model may write rules for. */
export function isNarrow(target: string): boolean {
  return !target.startsWith('tool:') && !target.includes('*');
}
