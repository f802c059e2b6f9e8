/** The door `switchgear/approvers`: ways to ask a person. */

export type { Answer, Approver } from '../ports/approver.ts';
export { cardApprover } from './cards.ts';
export { firstAnswer } from './first-of.ts';
export { noApprover } from './nobody.ts';
export { type TerminalOptions, terminalApprover } from './terminal.ts';
export { type WebhookOptions, webhookApprover } from './webhook.ts';
