/** One row of the list of cards. In a long list only cards near the view are drawn in full. */

import { useSignal } from '@preact/signals';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { headlineOf } from '../../logic/card-words.ts';
import type { PageCard } from '../../logic/inbox-model.ts';
import { CardItem } from './card-item.tsx';
import { cardElementId, currentCard } from './current-card.ts';

/** The height of a card that was not drawn yet. */
const assumedHeight = 320;

/** What a row does when it comes near the view, or leaves it. */
const listeners = new WeakMap<Element, (isNear: boolean, height: number) => void>();

const observer = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting, boundingClientRect } of entries)
      listeners.get(target)?.(isIntersecting, boundingClientRect.height);
  },
  { rootMargin: '1500px' },
);

interface CardRowProps {
  readonly card: PageCard;
  readonly isLong: boolean;
}

export function CardRow({ card, isLong }: CardRowProps) {
  const row = useRef<HTMLLIElement>(null);
  const isNear = useSignal(!isLong);
  const height = useSignal(assumedHeight);
  useEffect(() => {
    const element = row.current;
    if (element === null || !isLong) return;
    listeners.set(element, (isNowNear, nowHeight) => {
      if (isNear.value) height.value = nowHeight;
      isNear.value = isNowNear;
    });
    observer.observe(element);
    return () => observer.unobserve(element);
  }, [isLong]);
  // A card that did not change is not drawn again. The card with the focus stays.
  const isDrawn = isNear.value || !isLong || currentCard.value === card.id;
  return useMemo(
    () => (
      <li ref={row} style={isDrawn ? {} : { blockSize: `${height.value}px` }}>
        {isDrawn ? <CardItem card={card} /> : <CardOutline card={card} />}
      </li>
    ),
    [card, isDrawn],
  );
}

/** A card that is far from the view: its name, so that screen readers and keys find it. */
function CardOutline({ card }: { readonly card: PageCard }) {
  const id = cardElementId(card.id);
  return (
    <article id={id} class={`card outline ${card.kind}`} aria-labelledby={`${id}:name`} tabIndex={-1}>
      <h2 id={`${id}:name`}>{headlineOf(card)}</h2>
    </article>
  );
}
