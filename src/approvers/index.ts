/** The entry point `switchgear/approvers`: ways to ask a person. */

export type { QuestionCard } from '../core/card.ts';
export type { Answer, Approver } from '../ports/approver.ts';
export { cardApprover } from './card-approver.ts';
export { firstAnswer } from './first-answer.ts';
export { noApprover } from './no-approver.ts';
export { type TerminalOptions, terminalApprover } from './terminal-approver.ts';
export { type WebhookOptions, webhookApprover } from './webhook-approver.ts';
