/** What tests of runs need: chains from a few words, abilities that count, and somebody who answers. */

import type { AbilityCall, AbilitySource } from '../../../src/chains/abilities/ability.ts';
import type { Chain, ChainStep } from '../../../src/chains/file/chain.ts';
import type { QuestionCard } from '../../../src/core/card.ts';
import type { RuleText } from '../../../src/core/settings.ts';
import type { Answer, Approver } from '../../../src/ports/approver.ts';

/** A step that calls the ability of its own name, and gives its result that name, unless more is said. */
export function step(id: string, more: Partial<ChainStep> = {}): ChainStep {
  return { id, ability: id, args: {}, outputKey: id, idempotent: false, ...more };
}

/** A rule of a chain: `condition|action|reason`. */
function ruleOf(line: string, chain: string): RuleText {
  const [condition = '', action, reason] = line.split('|') as [string, RuleText['action'], string?];
  return { target: `chain:${chain}`, condition, action, ...(reason !== undefined && { reason }) };
}

export function chainOf(
  steps: readonly (string | ChainStep)[],
  lines: readonly string[] = [],
  more: Partial<Chain> = {},
): Chain {
  const id = more.id ?? 'plan';
  return {
    id,
    params: [],
    rules: lines.map((line) => ruleOf(line, id)),
    ruleSettings: { onMissing: 'pending' },
    steps: steps.map((each) => (typeof each === 'string' ? step(each) : each)),
    ...more,
  };
}

export interface Counting extends AbilitySource {
  /** Names in the order in which they ran. */
  readonly ran: string[];
  readonly calls: AbilityCall[];
}

type Does = (call: AbilityCall) => unknown;

/** Abilities that say what ran. A name that has no function gives its own name back. */
export function counting(does: Readonly<Record<string, Does>> = {}): Counting {
  const ran: string[] = [];
  const calls: AbilityCall[] = [];
  return {
    ran,
    calls,
    find: async (name) => ({
      name,
      scope: 'agent',
      async run(call) {
        ran.push(name);
        calls.push(call);
        const act = does[name];
        return act === undefined ? name : act(call);
      },
    }),
    names: async () => Object.keys(does),
    close: async () => {},
  };
}

export interface Person extends Approver {
  readonly cards: QuestionCard[];
  /** Answers the question that is open. */
  say(answer: Partial<Answer>): void;
}

/** Somebody who answers when the test says so, or at once where an answer is given. */
export function person(always?: Partial<Answer>): Person {
  const cards: QuestionCard[] = [];
  let say: (answer: Partial<Answer>) => void = () => {};
  return {
    name: 'person',
    cards,
    say: (answer) => say(answer),
    ask(card, signal) {
      cards.push(card);
      return new Promise((resolve, reject) => {
        say = (answer) => resolve({ approved: true, by: 'ann', ...answer });
        signal.addEventListener('abort', () => reject(new Error('over')));
        if (always !== undefined) say(always);
      });
    },
  };
}
