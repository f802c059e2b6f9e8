/**
 * The internal functions of the engine for the folders that build on it: hooks, chains, agents, supervisor, cli,
 * compat.
 */

export { digestApproval, digestWithSecret } from './approval/approval-digest.ts';
export { markValue } from './approval/call-mark.ts';
export {
  describeUnfitEdit,
  hookCardPrefix,
  keepEditForm,
  readEditForm,
  removeEditForm,
} from './approval/edited-args.ts';
export {
  inputKey,
  makeInputChanges,
  readInput,
  removeExpiredInputs,
  removeInput,
  requestId,
  sealText,
  storeInput,
  unsealText,
} from './approval/sealed-input.ts';
export { showInput } from './approval/shown-input.ts';
export { assembleSwitchgear } from './assemble-switchgear.ts';
export { runCallsVariable, withRunCalls } from './budgets/run-calls.ts';
export { settingsOf, tuneBreaker } from './extras/tune-breaker.ts';
export { appendEntry, countError, errorMessage, keepsContent, printDebug, publishEntry } from './journal/journal.ts';
export type { AskedCall, AskedSite, askPerson } from './route/approval.ts';
export { type CallSite, callSiteFor, type Target, targetFor } from './route/call-site.ts';
export { copyProperties } from './runtime/copy-properties.ts';
export { fingerprint } from './runtime/fingerprint.ts';
export { invalid } from './runtime/option-checks.ts';
export { setMetricLayer, timeDecisions } from './runtime/process-counts.ts';
export { refreshOnce } from './runtime/refresh-once.ts';
export { isObserving, type Runtime, runtimeOf, useDefaultPrices } from './runtime/runtime.ts';
export { SlotList } from './runtime/slot-list.ts';
export { describeCardTask } from './tasks/card-task.ts';
export {
  makeQuestionCard,
  openCard,
  redactCard,
  shortDigest,
  updateCard,
  withdrawQuestion,
  withInput,
} from './tasks/cards.ts';
export { type PricedUsage, priceUsage } from './tasks/cost.ts';
export { halt, warnPayersNearLimit } from './tasks/halt.ts';
export { declineLimit, describeLimit, isDeclined, limitOwner, raiseLimit } from './tasks/limit-question.ts';
export { observe } from './tasks/observe.ts';
export { applyOrdersSince } from './tasks/operator-orders.ts';
export { stopSweep, sweep } from './tasks/sweep.ts';
export { entryPlace, failsAtLimit, onHalt, type TaskState } from './tasks/task.ts';
export { applyAndCheck } from './tasks/task-events.ts';
export {
  adoptHaltedTask,
  type CarriedTask,
  captureTask,
  endSilently,
  type FrozenTask,
  forgetTasks,
  freezeTask,
  joinTask,
  thawTask,
} from './tasks/task-transfer.ts';
export { endTask, startTask, type TaskStart, unknownTaskMessage } from './tasks/task-tree.ts';
