/** The inside of the engine, for the folders that are built on it: hooks, chains, agents, supervisor, command, compat. */

export { assembleSwitchgear } from './assemble-switchgear.ts';
export { answerCard, retryOptions } from './extras/answer-card.ts';
export { settingsOf, tuneBreaker } from './extras/tune-breaker.ts';
export { appendEntry, countError, errorMessage, keepsContent, publishEntry } from './journal/journal.ts';
export { admitAction, isStop } from './route/admission.ts';
export type { askPerson } from './route/approval.ts';
export { settleEnding } from './route/call.ts';
export { type CallSite, callSiteFor, type Target, targetFor } from './route/call-site.ts';
export { makeAction } from './route/proposal.ts';
export { recordTuning } from './route/target.ts';
export { fingerprint } from './runtime/fingerprint.ts';
export { invalid } from './runtime/option-checks.ts';
export { type Runtime, runtimeOf } from './runtime/runtime.ts';
export { updateCard } from './tasks/cards.ts';
export { adoptHaltedTask, type CarriedTask, captureTask } from './tasks/carried.ts';
export { priceUsage } from './tasks/cost.ts';
export { halt } from './tasks/halt.ts';
export { observe } from './tasks/observe.ts';
export { stopSweep, sweep } from './tasks/sweep.ts';
export { entryPlace, onHalt, type TaskState } from './tasks/task.ts';
export { applyAndCheck } from './tasks/task-events.ts';
export { type FrozenTask, freezeTask, joinTask, thawTask } from './tasks/task-transfer.ts';
export { endTask, startTask, unknownTaskMessage } from './tasks/task-tree.ts';
