/**
 * Messages about cards: as JSON, or shaped for Slack. A message has no arguments, no digest and no process; secrets in
 * its texts are masked, and characters that steer a terminal or page are removed.
 */

import { createHash } from 'node:crypto';
import type { Card } from '../../core/card.ts';
import type { WebhookFormat } from '../../core/declare/webhook-settings.ts';
import { cleanLine, sliceWhole } from '../../core/foreign-text.ts';
import { maskSecrets } from '../../core/secret-shapes.ts';
import { formatAction } from '../../operator/cards.ts';
import { formatJson } from '../http/respond.ts';
import { messageLinesMax, messageTextMax } from './limits.ts';

/** What a message is about. `over`: an alert that ended. `digest`: many cards at once. */
export type MessageType = 'alert' | 'over' | 'halt' | 'question' | 'digest' | 'test';

/** A message before it gets the shape of its webhook. */
export interface Message {
  /** Equal for every attempt to send this message, so that a receiver can drop repeats. */
  readonly id: string;
  readonly type: MessageType;
  readonly wallMs: number;
  readonly headline: string;
  readonly lines: readonly string[];
  /** The card on the page. */
  readonly link: string;
  readonly card?: ShownCard;
}

interface ShownCard {
  readonly id: string;
  readonly kind: Card['kind'];
  readonly code: string;
  readonly task: string;
  readonly agent?: string;
  readonly state: Card['state'];
  readonly counters: Readonly<Record<string, string | number>>;
  readonly actions: readonly string[];
}

/** Where a message comes from. */
export interface MessageContext {
  /** The address of the page, without a slash at its end. */
  readonly pageUrl: string;
  readonly wallMs: number;
  readonly webhook: string;
}

/** Cleans a foreign text: one line, bounded, without secrets. */
export function cleanText(text: string): string {
  const masked = maskSecrets(text, (kind) => `[hidden: ${kind}]`);
  return sliceWhole(cleanLine(masked), messageTextMax);
}

/** Makes the message about one card. */
export function makeCardMessage(
  card: Card,
  type: MessageType,
  entryAgent: string | undefined,
  { pageUrl, wallMs, webhook }: MessageContext,
): Message {
  const [headline = card.code, ...evidence] = card.evidence.slice(0, messageLinesMax).map(cleanText);
  const { agent = entryAgent, task, kind } = card;
  const who = `${agent === undefined ? '' : `Agent ${cleanText(agent)}, `}task ${cleanText(task)}`;
  const answers = `Answers: ${card.actions.map(formatAction).join(', ')}`;
  const lines = kind === 'notice' ? evidence : [who, ...evidence, answers];
  return {
    id: makeMessageId(webhook, type, card.id),
    type,
    wallMs,
    headline: `${prefixes[type]}${headline}`,
    lines,
    link: `${pageUrl}/#/inbox/${encodeURIComponent(card.id.toWellFormed())}`,
    card: {
      id: cleanLine(card.id),
      kind,
      code: cleanText(card.code),
      task: cleanText(task),
      ...(agent !== undefined && { agent: cleanText(agent) }),
      state: card.state,
      counters: cleanCounters(card.counters),
      actions: [...card.actions],
    },
  };
}

const prefixes: Readonly<Record<MessageType, string>> = {
  alert: 'Alert: ',
  over: 'Over: ',
  halt: 'Halted: ',
  question: 'Question: ',
  digest: '',
  test: '',
};

/** Makes the message about many cards. */
export function makeDigest(
  cards: readonly { readonly card: Card; readonly type: MessageType }[],
  { pageUrl, wallMs, webhook }: MessageContext,
): Message {
  const counts = Object.entries(Object.groupBy(cards, ({ type }) => type)).map(
    ([type, group]) => `${group.length} × ${type}`,
  );
  return {
    id: makeMessageId(webhook, 'digest', cards.map(({ card }) => card.id).join()),
    type: 'digest',
    wallMs,
    headline: `${cards.length} cards at once: ${counts.join(', ')}`,
    lines: cards.slice(0, messageLinesMax).map(({ card }) => cleanText(card.evidence[0] ?? card.code)),
    link: `${pageUrl}/#/inbox`,
  };
}

/** Makes a message that only shows that a webhook works. */
export function makeTestMessage({ pageUrl, wallMs, webhook }: MessageContext): Message {
  return {
    id: makeMessageId(webhook, 'test', String(wallMs)),
    type: 'test',
    wallMs,
    headline: `Test message of Switchgear to the webhook ${webhook}`,
    lines: ['Nothing happened: somebody ran switchgear alerts test.'],
    link: `${pageUrl}/#/inbox`,
  };
}

/** An id that is equal for equal parts. */
export function makeMessageId(...parts: readonly string[]): string {
  return `msg_${createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32)}`;
}

function cleanCounters(counters: Card['counters']): ShownCard['counters'] {
  const entries = Object.entries(counters).slice(0, messageLinesMax * 2);
  return Object.fromEntries(
    entries.map(([name, value]) => [cleanText(name), typeof value === 'number' ? value : cleanText(String(value))]),
  );
}

/** The body of a request. */
export function formatMessage(message: Message, format: WebhookFormat): string {
  return formatJson(format === 'slack' ? toSlack(message) : toJson(message));
}

function toJson({ id, type, wallMs, headline, lines, link, card }: Message) {
  return { id, type, time: new Date(wallMs).toISOString(), headline, lines, link, ...(card && { card }) };
}

/** Foreign words are plain text, which Slack does not format; the fallback text is escaped. */
function toSlack({ headline, lines, link, type }: Message) {
  const plain = (text: string) => ({ type: 'plain_text', text: text.slice(0, 3_000) || ' ', emoji: false });
  return {
    text: escapeSlack(headline),
    mrkdwn: false,
    parse: 'none',
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: 'header', text: plain(sliceWhole(escapeSlack(headline), 150)) },
      ...(lines.length === 0 ? [] : [{ type: 'section', text: plain(escapeSlack(lines.join('\n'))) }]),
      {
        type: 'section',
        text: {
          type: 'mrkdwn',
          text: `<${link}|${type === 'digest' ? 'Open the inbox' : 'Open the card'}>`,
          verbatim: true,
        },
      },
    ],
  };
}

/** Escapes the three characters with a meaning in texts of Slack. */
function escapeSlack(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
