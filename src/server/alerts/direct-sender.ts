/** Sends messages about the store itself, which cannot wait in the store: from memory, and retried for some time. */

import type { Clock } from '../../ports/clock.ts';
import { attemptsMax, directMessagesMax, retryMaxMs, retryMinMs } from './limits.ts';
import { cleanText, type Message, type MessageType, makeMessageId } from './message.ts';
import type { Webhook } from './resolve-webhooks.ts';
import { sendMessage } from './send-message.ts';

/** A message to all webhooks that want alerts. */
interface DirectMessage {
  readonly type: MessageType;
  readonly headline: string;
  readonly lines: readonly string[];
  readonly link: string;
  /** Equal messages have equal causes. */
  readonly cause: string;
}

interface Pending {
  readonly webhook: Webhook;
  readonly message: Message;
  attempts: number;
  nextTryMs: number;
  isUnderWay: boolean;
}

/** Creates a sender; `tick` sends what is due. */
export function createDirectSender(webhooks: readonly Webhook[], clock: Clock) {
  let queue: readonly Pending[] = [];

  async function attempt(pending: Pending): Promise<void> {
    pending.isUnderWay = true;
    const { isDelivered } = await sendMessage(pending.webhook, pending.message, clock.wallMs());
    pending.isUnderWay = false;
    pending.attempts++;
    pending.nextTryMs = clock.nowMs() + Math.min(retryMaxMs, retryMinMs * 2 ** pending.attempts);
    if (isDelivered || pending.attempts >= attemptsMax) queue = queue.filter((each) => each !== pending);
  }

  function tick(): void {
    for (const pending of queue) if (!pending.isUnderWay && clock.nowMs() >= pending.nextTryMs) void attempt(pending);
  }

  return {
    tick,
    send({ type, headline, lines, link, cause }: DirectMessage): void {
      const wanted = webhooks.filter(({ url, events }) => url !== undefined && events.includes('alerts'));
      const added = wanted.map((webhook): Pending => {
        const id = makeMessageId(webhook.name, type, cause);
        const texts = { headline: cleanText(headline), lines: lines.map(cleanText) };
        const message: Message = { id, type, wallMs: clock.wallMs(), link, ...texts };
        return { webhook, message, attempts: 0, nextTryMs: 0, isUnderWay: false };
      });
      queue = [...queue, ...added].slice(-directMessagesMax);
      tick();
    },
  };
}
