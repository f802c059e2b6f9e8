/** The view History: who decided what, when, and with which effect. */

import { useSignal } from '@preact/signals';
import { EmptyState, ErrorNote, LoadingNote } from '../components/empty-state.tsx';
import type { CardsAnswer } from '../live/inbox-store.ts';
import { useResource } from '../live/resource.ts';
import { formatCount } from '../logic/format.ts';
import { ClosedCard } from './inbox/closed-card.tsx';
import type { View } from './view.ts';

const cardsPerPage = 50;

function History() {
  const page = useSignal(0);
  const kind = useSignal('');
  const path = `/api/cards?state=closed&offset=${page.value * cardsPerPage}&limit=${cardsPerPage}${
    kind.value === '' ? '' : `&kind=${kind.value}`
  }`;
  const { loaded, reload } = useResource<CardsAnswer>(path, ({ type }) => type === 'card-changed');
  const { value, error } = loaded.value;
  return (
    <>
      <div class="filters">
        <label>
          Show{' '}
          <select
            value={kind.value}
            onChange={({ currentTarget }) => {
              kind.value = currentTarget.value;
              page.value = 0;
            }}
          >
            <option value="">everything</option>
            <option value="ask">questions</option>
            <option value="halt">stopped tasks</option>
            <option value="notice">notices</option>
          </select>
        </label>
      </div>
      {error !== undefined && <ErrorNote text={error} onRetry={reload} />}
      {value === undefined && error === undefined && <LoadingNote />}
      {value?.total === 0 && (
        <EmptyState icon="clock" title="Nothing was decided yet.">
          <p>Answered and expired cards are listed here, with the person who decided.</p>
        </EmptyState>
      )}
      {value !== undefined && value.total > 0 && (
        <>
          <ul class="closed-cards" aria-label="Decisions">
            {value.cards.map((card) => (
              <li key={card.id}>
                <ClosedCard card={card} />
              </li>
            ))}
          </ul>
          <Pages page={page.value} total={value.total} onPage={(next) => (page.value = next)} />
        </>
      )}
    </>
  );
}

interface PagesProps {
  readonly page: number;
  readonly total: number;
  readonly onPage: (page: number) => void;
}

function Pages({ page, total, onPage }: PagesProps) {
  const pages = Math.max(1, Math.ceil(total / cardsPerPage));
  if (pages === 1) return <p class="list-end">{formatCount(total, 'card')}</p>;
  return (
    <nav class="pages" aria-label="Pages">
      <button type="button" class="quiet" disabled={page === 0} onClick={() => onPage(page - 1)}>
        Newer
      </button>
      <span>
        Page {page + 1} of {pages}
      </span>
      <button type="button" class="quiet" disabled={page >= pages - 1} onClick={() => onPage(page + 1)}>
        Older
      </button>
    </nav>
  );
}

export const historyView: View = { id: 'history', title: 'History', Component: History };
