/** The view Inbox: the open cards, decided one by one or several at once. */

import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { apiGet } from '../api.ts';
import { CommandLine, EmptyState, ErrorNote, LoadingNote } from '../components/empty-state.tsx';
import { addKeys } from '../keyboard.ts';
import { decideAll, select, selected, selectedCards, shownCards } from '../live/decisions.ts';
import { inbox, inboxLoading, loadMoreCards, reloadInbox, snoozedCount } from '../live/inbox-store.ts';
import { useResource } from '../live/resource.ts';
import { type AnswerButton, isIncomplete, listCommonAnswers } from '../logic/card-answers.ts';
import { formatCount, libraryCode } from '../logic/format.ts';
import { describeMore, type PageCard } from '../logic/inbox-model.ts';
import { encodePart } from '../logic/route.ts';
import { isOperator } from '../state.ts';
import { AnswerTextDialog } from './inbox/card-actions.tsx';
import { CardItem } from './inbox/card-item.tsx';
import { CardRow } from './inbox/card-row.tsx';
import { ClosedCard } from './inbox/closed-card.tsx';
import { currentCard, focusCard, moveBy, pressKey } from './inbox/current-card.ts';
import type { View, ViewProps } from './view.ts';

function Inbox({ param }: ViewProps) {
  const { isLoaded, error } = inboxLoading.value;
  const cards = shownCards.value;
  const more = describeMore(inbox.value);
  useEffect(
    () =>
      addKeys([
        { keys: 'j', meaning: 'Next card', run: () => moveBy(1) },
        { keys: 'k', meaning: 'Previous card', run: () => moveBy(-1) },
        { keys: 'x', meaning: 'Select the card', run: toggleCurrent },
        { keys: 'a', meaning: 'Approve once', run: () => pressKey('a') },
        { keys: 'd', meaning: 'Decline', run: () => pressKey('d') },
        { keys: 'e', meaning: 'Edit and approve', run: () => pressKey('e') },
        { keys: 'r', meaning: 'Try again', run: () => pressKey('r') },
        { keys: 'p', meaning: 'Pause', run: () => pressKey('p') },
        { keys: 'n', meaning: 'Not now', run: () => pressKey('n') },
      ]),
    [],
  );
  if (!isLoaded) return error === undefined ? <LoadingNote /> : <ErrorNote text={error} onRetry={reloadInbox} />;
  return (
    <>
      {error !== undefined && <ErrorNote text={error} onRetry={reloadInbox} />}
      {!isOperator.value && (
        <p class="viewer-note">You can look, but not decide: your token has the role of a viewer.</p>
      )}
      {param !== undefined && <LinkedCard id={param} />}
      {isOperator.value && cards.length > 1 && <SelectAll />}
      {isOperator.value && selectedCards.value.length > 0 && <BulkBar />}
      {more !== undefined && <p class="hint list-note">{more}</p>}
      {cards.length === 0 ? <NoCards /> : <CardList cards={cards} />}
      {snoozedCount.value > 0 && (
        <p class="list-end">{formatCount(snoozedCount.value, 'card')} snoozed with “Not now”.</p>
      )}
    </>
  );
}

function toggleCurrent(): void {
  const { value: id } = currentCard;
  if (id !== undefined) select([id], !selected.peek().has(id));
}

function NoCards() {
  const { loaded } = useResource<{ readonly store: string }>('/api/store', () => false);
  return (
    <EmptyState icon="check" title="No open cards.">
      <p>A card appears here when an agent is stopped, or asks before it acts. Try:</p>
      <CommandLine text={'switchgear run -- claude -p "…"'} />
      <p>
        Runs, hooks, chains, the MCP proxy and the gateway are seen by themselves. A program with the library needs this
        store:
      </p>
      <CommandLine text={libraryCode(loaded.value.value?.store ?? 'sqlite:agents.db')} />
    </EmptyState>
  );
}

/** A list of so many cards is drawn as a whole; of a longer one, only the cards near the view. */
const cardsShortMax = 30;

function CardList({ cards }: { readonly cards: readonly PageCard[] }) {
  const end = useRef<HTMLDivElement>(null);
  const { total, cards: loaded } = inbox.value;
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) void loadMoreCards();
      },
      { rootMargin: '2000px' },
    );
    if (end.current !== null) observer.observe(end.current);
    return () => observer.disconnect();
  }, [loaded.length]);
  const isLong = cards.length > cardsShortMax;
  return (
    <>
      <ul class="cards" aria-label="Open cards">
        {cards.map((card) => (
          <CardRow key={card.id} card={card} isLong={isLong} />
        ))}
      </ul>
      <div ref={end} class="list-end">
        {total > loaded.length && (describeMore(inbox.value) ?? `Loading the next of ${formatCount(total, 'card')}…`)}
      </div>
    </>
  );
}

function SelectAll() {
  const { cards } = inbox.value;
  const ids = cards.map(({ id }) => id);
  const count = selectedCards.value.length;
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (box.current !== null) box.current.indeterminate = count > 0 && count < ids.length;
  });
  return (
    <label class="check select-all">
      <input
        ref={box}
        type="checkbox"
        checked={count > 0 && count === ids.length}
        onChange={({ currentTarget }) => select(ids, currentTarget.checked)}
      />
      Select all
    </label>
  );
}

function BulkBar() {
  const cards = selectedCards.value;
  const dialog = useSignal<AnswerButton | undefined>(undefined);
  const answers = listCommonAnswers(cards);
  const all = cards.reduce((sum, { count = 1 }) => sum + count, 0);
  const isUnseen = cards.some(isIncomplete);
  const press = (button: AnswerButton) => {
    if (button.dialog === undefined) void decideAll(cards, button.body(''));
    else dialog.value = button;
  };
  return (
    <div class="bulk" role="toolbar" aria-label="Selected cards">
      <span class="bulk-count">
        {cards.length} selected{all > cards.length && ` (${formatCount(all, 'card')} with equal ones)`}
      </span>
      {answers.map((button) => (
        <button
          key={button.action}
          type="button"
          class={button.tone}
          disabled={isUnseen && button.body('{}').answer === 'approve'}
          onClick={() => press(button)}
        >
          {button.label}
        </button>
      ))}
      {answers.length === 0 && <span class="dim">These cards have no answer in common.</span>}
      <button type="button" class="quiet" onClick={() => select([...selected.value], false)}>
        Clear the selection
      </button>
      {dialog.value !== undefined && (
        <AnswerTextDialog
          button={dialog.value}
          subject={formatCount(cards.length, 'card')}
          initial=""
          onClose={() => (dialog.value = undefined)}
          onSubmit={(body) => {
            dialog.value = undefined;
            void decideAll(cards, body);
          }}
        />
      )}
    </div>
  );
}

/** The card of the address: the focus moves to it; a card that is not open is shown above the list. */
function LinkedCard({ id }: { readonly id: string }) {
  const other = useSignal<PageCard | 'missing' | undefined>(undefined);
  const isListed = shownCards.value.some((card) => card.id === id);
  useEffect(() => {
    other.value = undefined;
    if (isListed) {
      focusCard(id);
      return;
    }
    apiGet<{ card: PageCard }>(`/api/cards/${encodePart(id)}`).then(
      ({ card }) => (other.value = card),
      () => (other.value = 'missing'),
    );
  }, [id]);
  if (isListed || other.value === undefined) return null;
  if (other.value === 'missing') return <ErrorNote text={`There is no card ${id} in this store any more.`} />;
  return (
    <div class="linked">
      {other.value.isOpen === true ? <CardItem card={other.value} /> : <ClosedCard card={other.value} />}
    </div>
  );
}

export const inboxView: View = { id: 'inbox', title: 'Inbox', Component: Inbox };
