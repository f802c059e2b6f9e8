/**
 * Parses and matches the target of a rule:
 * `*` everything · `chain:<id>` one chain · `tool:<glob>` tools and abilities · `agent:<glob>` agents by name ·
 * a bare word: the chain of that id and, outside chains, the tool of that name.
 * Chain ids contain no star, so a bare word with a star is a tool glob.
 */

import { isMatch } from '../../glob.ts';
import { nameLengthMax } from '../../limits.ts';

/** The subject of a rule; `chain` is set inside chains only. */
export interface RuleSubject {
  readonly tool?: string | undefined;
  readonly agent?: string | undefined;
  readonly chain?: string | undefined;
}

const namedTarget = /^(?:chain:[^*]+|tool:.+|agent:.+|[^:]+)$/;

/** Normalizes a target; undefined if it can match nothing. */
export function parseTarget(text: unknown): string | undefined {
  if (typeof text !== 'string' || text.length > nameLengthMax || /[|"\p{Cc}]/u.test(text)) return undefined;
  const target = text.trim().replace(/^(chain|tool|agent):\s+/, '$1:');
  if (target === '*') return target;
  if (!namedTarget.test(target)) return undefined;
  return target.includes('*') && !target.includes(':') ? `tool:${target}` : target;
}

/** Whether a rule with this target applies to the subject. */
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

/** Whether the target names the tool, so that the rule's author knew its arguments. */
export function namesTool(target: string, tool: string): boolean {
  if (target.startsWith('tool:')) return /[^*]/.test(target.slice(5)) && isMatch(target.slice(5), tool);
  return target === tool && target !== '*';
}

/** Whether the target is one chain or one agent: the only targets of a model's rules. */
export function isNarrow(target: string): boolean {
  return !target.startsWith('tool:') && !target.includes('*');
}
