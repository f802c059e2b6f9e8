/** The words of breakers: their state, whom they are for, and the effect of an order. */

import type { ActiveBreaker } from '../../../src/operator/board/answers.ts';

/** A state as word, icon and tone. */
export interface StateLook {
  readonly word: string;
  readonly icon: 'stop' | 'half' | 'check' | 'hold';
  readonly tone: 'bad' | 'warn' | 'good';
}

/** The look of a state. */
export function stateLooks({ state, held }: Pick<ActiveBreaker, 'state' | 'held'>): StateLook {
  if (held) return { word: 'Held open', icon: 'hold', tone: 'bad' };
  if (state === 'OPEN') return { word: 'Open', icon: 'stop', tone: 'bad' };
  if (state === 'HALF_OPEN') return { word: 'Half-open', icon: 'half', tone: 'warn' };
  return { word: 'Closed', icon: 'check', tone: 'good' };
}

/** Whom a breaker is for: `agent Researcher, project shop`. */
export function describeScope({ scope, of, project }: Pick<ActiveBreaker, 'scope' | 'of' | 'project'>): string {
  if (scope === 'all') return 'shared by all';
  return [of === '' ? '' : `${scope} ${of}`, project === '' ? '' : `project ${project}`].filter(Boolean).join(', ');
}

/** The last folder of the path of a project, which is enough to tell projects apart. */
export function folderOf(project: string): string {
  return project.split(/[\\/]/).findLast(Boolean) ?? project;
}

/** A breaker in one line: `search is open`. */
export function describeBreaker(breaker: ActiveBreaker): string {
  return `${breaker.name} is ${stateLooks(breaker).word.toLowerCase()}`;
}

/** What the store says after an order. */
export function describeEffect(name: string, breakers: readonly ActiveBreaker[]): string {
  const words = new Map<string, number>();
  for (const breaker of breakers) {
    const { word } = stateLooks(breaker);
    words.set(word, (words.get(word) ?? 0) + 1);
  }
  if (words.size === 0) return `${name}: the order stands for breakers that are created later.`;
  if (words.size === 1) {
    const [word = '', count = 0] = [...words][0] ?? [];
    return count === 1
      ? `${name} is now ${word.toLowerCase()}.`
      : `${count} breakers of ${name} are now ${word.toLowerCase()}.`;
  }
  return `${name}: ${[...words].map(([word, count]) => `${count} ${word.toLowerCase()}`).join(', ')}.`;
}

/** Names the person who holds or tripped a breaker that is not closed: `held by ann: vendor is down`. */
export function describeOrder({ state, lastOrder }: Pick<ActiveBreaker, 'state' | 'lastOrder'>): string {
  if (state === 'CLOSED' || (lastOrder?.order !== 'hold' && lastOrder?.order !== 'trip')) return '';
  const verb = lastOrder.order === 'hold' ? 'held' : 'tripped';
  return `${verb} by ${lastOrder.by}${lastOrder.reason === '' ? '' : `: ${lastOrder.reason}`}`;
}

/** The sum of a series. */
export function sumOf(values: readonly number[] | undefined): number {
  return values === undefined ? 0 : values.reduce((sum, each) => sum + each, 0);
}
