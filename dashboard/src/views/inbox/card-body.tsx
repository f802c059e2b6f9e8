/** The parts of a card that explain it: reasons, arguments, counters, limit, cost, last events. */

import type { ComponentChildren } from 'preact';
import { EventType } from '../../components/event-type.tsx';
import { Meter } from '../../components/meter.tsx';
import { Ago } from '../../components/time.tsx';
import { UnbrokenWords } from '../../components/unbroken-words.tsx';
import {
  argumentsOf,
  counterName,
  describeEquals,
  describeRule,
  limitOf,
  reasonsOf,
  shownCountersOf,
} from '../../logic/card-words.ts';
import { formatUsage, plainSentence } from '../../logic/format.ts';
import type { PageCard } from '../../logic/inbox-model.ts';

interface PartProps {
  readonly title: string;
  readonly children: ComponentChildren;
}

function Part({ title, children }: PartProps) {
  return (
    <div class="part">
      <h3>{title}</h3>
      {children}
    </div>
  );
}

export function CardBody({ card }: { readonly card: PageCard }) {
  const text = argumentsOf(card);
  const equals = describeEquals(card);
  const { lastEvents = [] } = card.details ?? {};
  return (
    <div class="card-body">
      <div class="card-story">
        <Part title="Why">
          {reasonsOf(card).map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
        </Part>
        {equals !== undefined && (
          <Part title={equals.title}>
            <p>
              <UnbrokenWords text={equals.text} />
            </p>
          </Part>
        )}
        {text !== undefined && (
          <Part title="Arguments">
            {text === '' ? (
              <p class="dim">None.</p>
            ) : (
              // biome-ignore lint/a11y/noNoninteractiveTabindex: A box that scrolls must be reachable by keyboard.
              <pre class="arguments" tabIndex={0}>
                <code>{text}</code>
              </pre>
            )}
          </Part>
        )}
        {lastEvents.length > 0 && (
          <Part title="Last events">
            <ol class="events">
              {lastEvents.map(({ seq, wallMs, type, words }) => (
                <li key={seq}>
                  <span class="event-time">
                    <Ago wallMs={wallMs} />
                  </span>
                  <span class="event-type">
                    <EventType type={type} />
                  </span>
                  <span class="event-words">{words === undefined ? '' : plainSentence(words)}</span>
                </li>
              ))}
            </ol>
          </Part>
        )}
      </div>
      <CardNumbers card={card} />
    </div>
  );
}

/** A rule with its target; the stored line is its tooltip. */
function RuleLine({ rule }: { readonly rule: string }) {
  const { text, target } = describeRule(rule);
  return (
    <>
      <code title={rule}>
        <UnbrokenWords text={text} />
      </code>
      {target !== undefined && <span class="dim"> for {target}</span>}
    </>
  );
}

/** The counters, the origin of the limit, and the cost. */
function CardNumbers({ card }: { readonly card: PageCard }) {
  const counters = shownCountersOf(card);
  const limit = limitOf(card);
  const { spentCents, limitCents } = card.details ?? {};
  const rules = (card.step?.rules ?? []).filter((rule) => rule !== limit?.rule);
  if (counters.length === 0 && limit === undefined && spentCents === undefined) return null;
  return (
    <div class="card-numbers">
      {counters.length > 0 && (
        <Part title="Counters">
          <div class="meter-list">
            {counters.map(({ name, used, limit, unit }) => (
              <Meter key={name} name={counterName(name)} used={used} limit={limit} unit={unit} />
            ))}
          </div>
        </Part>
      )}
      {limit !== undefined && (
        <Part title={limit.rule === undefined ? 'Limit' : 'Rule'}>
          <p>
            {limit.setting !== undefined && <code>{limit.setting}</code>} {limit.text}
            {limit.rule !== undefined && <RuleLine rule={limit.rule} />}
          </p>
          {rules.map((rule) => (
            <p key={rule}>
              <RuleLine rule={rule} />
            </p>
          ))}
        </Part>
      )}
      {spentCents !== undefined && (
        <Part title="Model spend so far">
          <p>{formatUsage(spentCents, limitCents, 'cents')}</p>
        </Part>
      )}
    </div>
  );
}
