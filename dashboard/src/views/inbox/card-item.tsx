/** One card of the inbox. */

import { useComputed, useSignal } from '@preact/signals';
import { useId } from 'preact/hooks';
import { Badge, type Tone } from '../../components/badge.tsx';
import { CommandLine } from '../../components/empty-state.tsx';
import { Icon, type IconName } from '../../components/icon.tsx';
import { Since, Until } from '../../components/time.tsx';
import { clearDecision, decisions, select, selected } from '../../live/decisions.ts';
import { headlineOf, kindWords } from '../../logic/card-words.ts';
import { type PageCard, riskOf } from '../../logic/inbox-model.ts';
import { formatRoute } from '../../logic/route.ts';
import { isOperator } from '../../state.ts';
import { CardActions } from './card-actions.tsx';
import { CardBody } from './card-body.tsx';
import { cardElementId, currentCard } from './current-card.ts';

const looks: Readonly<Record<PageCard['kind'], { readonly tone: Tone; readonly icon: IconName }>> = {
  ask: { tone: 'info', icon: 'question' },
  halt: { tone: 'bad', icon: 'stop' },
  notice: { tone: 'plain', icon: 'note' },
};

export function CardItem({ card }: { readonly card: PageCard }) {
  const { id, kind } = card;
  const headlineId = useId();
  const headline = headlineOf(card);
  const decision = useComputed(() => decisions.value.get(id)).value;
  const isSelected = useComputed(() => selected.value.has(id)).value;
  const isCurrent = useComputed(() => currentCard.value === id).value;
  const isDone = decision?.state === 'done';
  // Notices are short until somebody wants to know more.
  const isUnfolded = useSignal(false);
  return (
    <article
      id={cardElementId(id)}
      class={`card ${kind}${isDone ? ' done' : ''}${decision?.isElsewhere === true ? ' elsewhere' : ''}${isCurrent ? ' current' : ''}`}
      aria-labelledby={headlineId}
      aria-busy={decision?.state === 'sending'}
      tabIndex={-1}
      onFocusIn={() => (currentCard.value = id)}
    >
      <header class="card-head">
        {isOperator.value && !isDone && (
          <input
            type="checkbox"
            aria-label={`Select: ${headline}`}
            checked={isSelected}
            onChange={({ currentTarget }) => select([id], currentTarget.checked)}
          />
        )}
        <div class="card-title">
          <h2 id={headlineId}>{headline}</h2>
          <CardFacts card={card} isDone={isDone} />
        </div>
        <div class="card-marks">
          {(card.count ?? 1) > 1 && <EqualCount count={card.count!} />}
          {riskOf(card) === 'high' && kind !== 'ask' && <Badge tone="bad" icon="alert" text="High risk" />}
          <Badge tone={looks[kind].tone} icon={looks[kind].icon} text={kindWords[kind]} />
        </div>
      </header>
      {isDone ? (
        <p class={decision.isElsewhere === true ? 'effect elsewhere' : 'effect'}>
          <Icon name={decision.isElsewhere === true ? 'alert' : 'check'} /> {decision.text}
        </p>
      ) : (
        <>
          {(kind !== 'notice' || isUnfolded.value) && <CardBody card={card} />}
          {decision?.state === 'failed' && (
            <div class="card-failure" role="alert">
              <p>{decision.text}</p>
              {decision.command !== undefined && <CommandLine text={decision.command} />}
              <button type="button" class="quiet small" onClick={() => clearDecision(id)}>
                Close
              </button>
            </div>
          )}
          {kind === 'notice' && !isUnfolded.value ? (
            <div class="notice-row">
              {isOperator.value && <CardActions card={card} isBusy={decision?.state === 'sending'} />}
              <button type="button" class="quiet" aria-expanded={false} onClick={() => (isUnfolded.value = true)}>
                <Icon name="chevron" /> Details
              </button>
            </div>
          ) : (
            isOperator.value && <CardActions card={card} isBusy={decision?.state === 'sending'} />
          )}
        </>
      )}
    </article>
  );
}

function EqualCount({ count }: { readonly count: number }) {
  return (
    <span class="equals" title={`${count} equal cards, which one answer decides`}>
      ×{count}
    </span>
  );
}

/** Who waits, in which task, since when and until when. */
function CardFacts({ card, isDone }: { readonly card: PageCard; readonly isDone: boolean }) {
  const { kind, agent, task, step, openedWallMs, expiresAtMs, details } = card;
  return (
    <p class="card-facts">
      {agent !== undefined && agent !== step?.chain && <span>{agent}</span>}
      {step === undefined ? (
        <a href={formatRoute('tasks', task)}>{task}</a>
      ) : (
        <span>
          {step.chain}
          {step.id !== '' && `: ${step.id}`} of <a href={formatRoute('chains', step.run)}>{step.run}</a>
        </span>
      )}
      {openedWallMs !== undefined && !isDone && (
        <span class="fact-time">
          <Icon name="clock" /> {kind === 'notice' ? 'Opened' : 'Waiting for'} <Since wallMs={openedWallMs} />
          {kind === 'notice' && ' ago'}
        </span>
      )}
      {expiresAtMs !== undefined && !isDone && (
        <span class="fact-time expiry">
          Expires in <Until atMs={expiresAtMs} />
        </span>
      )}
      {details?.isAwaited === false && !isDone && <span>No process waits: a retry needs a terminal</span>}
    </p>
  );
}
