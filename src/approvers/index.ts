/** The door `switchgear/approvers`: ways to ask a person. */

export type { Answer, Approver } from '../ports/approver.ts';
export { cards } from './cards.ts';
export { firstOf } from './first-of.ts';
export { nobody } from './nobody.ts';
export { type TerminalOptions, terminal } from './terminal.ts';
export { type WebhookOptions, webhook } from './webhook.ts';
