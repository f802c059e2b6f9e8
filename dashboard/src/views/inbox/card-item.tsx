/** One card of the inbox. */

import { useComputed, useSignal } from '@preact/signals';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Badge, type Tone } from '../../components/badge.tsx';
import { CommandLine } from '../../components/empty-state.tsx';
import { Icon, type IconName } from '../../components/icon.tsx';
import { Since, Until } from '../../components/time.tsx';
import { clearDecision, type Decision, decisions, select, selected } from '../../live/decisions.ts';
import { headlineOf, kindWords } from '../../logic/card-words.ts';
import { type PageCard, riskOf } from '../../logic/inbox-model.ts';
import { formatRoute } from '../../logic/route.ts';
import { isOperator } from '../../state.ts';
import { CardActions } from './card-actions.tsx';
import { CardBody } from './card-body.tsx';
import { cardElementId, currentCard, moveBy } from './current-card.ts';

const looks: Readonly<Record<PageCard['kind'], { readonly tone: Tone; readonly icon: IconName }>> = {
  ask: { tone: 'info', icon: 'question' },
  halt: { tone: 'bad', icon: 'stop' },
  notice: { tone: 'plain', icon: 'note' },
};

export function CardItem({ card }: { readonly card: PageCard }) {
  const decision = useComputed(() => decisions.value.get(card.id)).value;
  return decision?.state === 'done' ? (
    <DecidedCard card={card} decision={decision} />
  ) : (
    <OpenCard card={card} decision={decision} />
  );
}

interface OpenCardProps {
  readonly card: PageCard;
  readonly decision: Decision | undefined;
}

function OpenCard({ card, decision }: OpenCardProps) {
  const { id, kind, count = 1 } = card;
  const headlineId = useId();
  const headline = headlineOf(card);
  const isSelected = useComputed(() => selected.value.has(id)).value;
  const isCurrent = useComputed(() => currentCard.value === id).value;
  const isBusy = decision?.state === 'sending';
  // Notices are short until somebody wants to know more.
  const isUnfolded = useSignal(kind !== 'notice');
  const element = useRef<HTMLElement>(null);
  // The button that was pressed lost the focus while the answer was under way.
  useLayoutEffect(() => {
    if (decision?.state === 'failed' && currentCard.peek() === id && isFocusLost())
      element.current?.focus({ preventScroll: true });
  }, [decision?.state]);
  return (
    <article
      ref={element}
      id={cardElementId(id)}
      class={`card ${kind}${isCurrent ? ' current' : ''}`}
      aria-labelledby={headlineId}
      aria-busy={isBusy}
      tabIndex={-1}
      onFocusIn={() => (currentCard.value = id)}
    >
      <header class="card-head">
        {isOperator.value && (
          <input
            type="checkbox"
            aria-label={`Select: ${headline}`}
            checked={isSelected}
            onChange={({ currentTarget }) => select([id], currentTarget.checked)}
          />
        )}
        <div class="card-title">
          <h2 id={headlineId}>{headline}</h2>
          <CardFacts card={card} />
        </div>
        <div class="card-marks">
          {count > 1 && <EqualCount count={count} />}
          {riskOf(card) === 'high' && kind !== 'ask' && <Badge tone="bad" icon="alert" text="High risk" />}
          <Badge tone={looks[kind].tone} icon={looks[kind].icon} text={kindWords[kind]} />
        </div>
      </header>
      {isUnfolded.value && <CardBody card={card} />}
      {decision?.state === 'failed' && (
        <div class="card-failure" role="alert">
          <p>{decision.text}</p>
          <button type="button" class="quiet icon-only" aria-label="Close" onClick={() => clearDecision(id)}>
            <Icon name="cross" />
          </button>
          {decision.command !== undefined && <CommandLine text={decision.command} />}
        </div>
      )}
      <div class="card-foot">
        {isOperator.value && <CardActions card={card} isBusy={isBusy} />}
        {!isUnfolded.value && (
          <button type="button" class="quiet" aria-expanded={false} onClick={() => (isUnfolded.value = true)}>
            <Icon name="chevron" /> Details
          </button>
        )}
      </div>
    </article>
  );
}

interface DecidedCardProps {
  readonly card: PageCard;
  readonly decision: Decision;
}

/** A card that is not open any more: its effect, for a while. It keeps the focus of the button that was pressed. */
function DecidedCard({ card, decision }: DecidedCardProps) {
  const element = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (currentCard.peek() === card.id && isFocusLost()) element.current?.focus({ preventScroll: true });
    return () => {
      const hasFocus = element.current?.contains(document.activeElement) === true;
      if (hasFocus && !moveBy(1)) document.getElementById('main')?.focus();
    };
  }, []);
  const { outcome } = decision;
  return (
    <div
      ref={element}
      id={cardElementId(card.id)}
      class={`card done${outcome === undefined ? ' elsewhere' : ''}`}
      tabIndex={-1}
      onFocusIn={() => (currentCard.value = card.id)}
    >
      <div class="card-head">
        <p class="done-title">{headlineOf(card)}</p>
        <Badge {...lookOfOutcome(card, outcome)} />
      </div>
      <p class="effect">{decision.text}</p>
    </div>
  );
}

function lookOfOutcome({ kind }: PageCard, outcome: string | undefined) {
  if (outcome === undefined) return { tone: 'warn', icon: 'alert', text: 'Not by you' } as const;
  const text = outcome.charAt(0).toUpperCase() + outcome.slice(1);
  const isOff = kind === 'ask' && outcome === 'declined';
  return { tone: isOff ? 'plain' : 'good', icon: isOff ? 'cross' : 'check', text } as const;
}

function isFocusLost(): boolean {
  return document.activeElement === null || document.activeElement === document.body;
}

function EqualCount({ count }: { readonly count: number }) {
  return (
    <span class="equals" title={`${count} equal cards, which one answer decides`}>
      ×{count}
    </span>
  );
}

/** Who waits, in which task, since when and until when. */
function CardFacts({ card }: { readonly card: PageCard }) {
  const { kind, agent, task, step, openedWallMs, expiresAtMs, details } = card;
  return (
    <p class="card-facts">
      {agent !== undefined && agent !== step?.chain && <span>{agent}</span>}
      {step === undefined ? (
        task !== '' && <a href={formatRoute('tasks', task)}>{task}</a>
      ) : (
        <span>
          {step.chain}
          {step.id !== '' && `: ${step.id}`} of <a href={formatRoute('chains', step.run)}>{step.run}</a>
        </span>
      )}
      {openedWallMs !== undefined && (
        <span class="fact-time">
          <Icon name="clock" /> {kind === 'notice' ? 'Opened' : 'Waiting for'} <Since wallMs={openedWallMs} />
          {kind === 'notice' && ' ago'}
        </span>
      )}
      {expiresAtMs !== undefined && (
        <span class="fact-time expiry">
          Expires in <Until atMs={expiresAtMs} />
        </span>
      )}
      {details?.isAwaited === false && <span>No process waits: a retry needs a terminal</span>}
    </p>
  );
}
