/** A card of the past: what happened, who decided what and when, and the effect. */

import { Badge, type Tone } from '../../components/badge.tsx';
import type { IconName } from '../../components/icon.tsx';
import { Ago } from '../../components/time.tsx';
import { answererOf, causesOf, headlineOf, kindWords, outcomeOf } from '../../logic/card-words.ts';
import type { PageCard } from '../../logic/inbox-model.ts';
import { formatRoute } from '../../logic/route.ts';

function lookOf({ answer }: PageCard): { readonly tone: Tone; readonly icon: IconName } {
  if (answer === undefined) return { tone: 'plain', icon: 'clock' };
  if (answer === 'decline') return { tone: 'bad', icon: 'cross' };
  if (answer === 'pause') return { tone: 'warn', icon: 'pause' };
  return answer === 'dismiss' ? { tone: 'plain', icon: 'cross' } : { tone: 'good', icon: 'check' };
}

export function ClosedCard({ card }: { readonly card: PageCard }) {
  const { id, task, step, kind, from, answeredWallMs, openedWallMs } = card;
  const who = answererOf(card);
  const note = card.note ?? from?.note;
  const effect = typeof card.effect === 'string' ? card.effect : card.effect?.sentence;
  const causes = causesOf(card).filter((each) => effect?.includes(each.replace(/\.$/, '')) !== true);
  const wallMs = answeredWallMs ?? openedWallMs;
  return (
    <article class="closed" aria-labelledby={`closed:${id}`}>
      <h2 id={`closed:${id}`}>{headlineOf(card)}</h2>
      <Badge {...lookOf(card)} text={outcomeOf(card)} />
      <p class="closed-facts">
        {who !== undefined && (
          <span>
            by <strong>{who}</strong>
          </span>
        )}
        {wallMs !== undefined && <Ago wallMs={wallMs} />}
        <span>{kindWords[kind]}</span>
        {step === undefined ? (
          task !== '' && <a href={formatRoute('tasks', task)}>{task}</a>
        ) : (
          <a href={formatRoute('chains', step.run)}>
            {step.chain}: {step.run}
          </a>
        )}
        {from?.how === 'unattended' && <span>unattended</span>}
      </p>
      {causes.length > 0 && <p class="closed-effect">{causes.join(' · ')}</p>}
      {note !== undefined && effect?.includes(note) !== true && <p class="closed-note">Note: “{note}”</p>}
      {effect !== undefined && <p class="closed-effect">{effect}</p>}
    </article>
  );
}
