/** The checks at both ends of a run: admission, which frequency rules count, and rules on the last outputs. */

import { cellKey } from '../../core/cell-key.ts';
import { chainRunName, type RulesState } from '../../core/controls/rules/control.ts';
import { explainRules } from '../../core/controls/rules/evaluate.ts';
import { countIn } from '../../core/controls/rules/history.ts';
import { stepStoreWaitMs } from '../../core/limits.ts';
import { refusalOf } from '../../core/refusal.ts';
import { digestSteps } from './approval/question-place.ts';
import { checkRules, type RuleCheckResult } from './state/check-rules.ts';
import { type StopReason, stopForRefusal, stopForStore } from './stop-reason.ts';
import { writeTransitionWithin } from './storage/active-run.ts';
import { type RunContext, recordRuleChecks } from './storage/run-context.ts';

/** Admits the run as a whole, once, at its start; frequency rules count this. */
export async function admitRun(context: RunContext): Promise<StopReason | undefined> {
  const { active, gate } = context;
  const { run, by } = active;
  if (run.admitted) return undefined;
  const identify = () => digestSteps(active);
  active.question.begin({ step: '', attempt: 0, args: {}, identify });
  recordRuleChecks(context, '', { hits: [], rows: explainFrequencyRules(context) });
  const refusal = refusalOf(await gate.guard(chainRunName(run.chain.id), async () => {}, { match: () => [] })());
  if (refusal !== undefined)
    return active.question.isParked ? 'parked' : stopForRefusal(active, refusal, context.lastCheck);
  const result = await writeTransitionWithin(
    active,
    stepStoreWaitMs,
    { type: 'admitted', by },
    active.question.useCard(),
  );
  active.question.forgetCard();
  return result.status === 'committed' ? undefined : stopForStore(result);
}

function explainFrequencyRules({ active, gate, gear, rules }: RunContext): RuleCheckResult['rows'] {
  const { runtime } = gate;
  const { chain } = active.run;
  const all = [...rules.policy, ...rules.own];
  const counted = runtime.store.cell('rules', () => runtime.rules!.control.initial(0)).state as RulesState;
  const atMs = runtime.clock.nowMs();
  return all.flatMap((rule) => {
    if (rule.condition.kind !== 'frequency') return [];
    const key = `${rule.id}@${chain.id}`;
    const history = counted.times.items[key];
    const before = (windowMs: number) =>
      runtime.store.shared?.windowCount(cellKey('frequency', '', key), atMs, windowMs).count ??
      (history === undefined ? 0 : countIn(history, windowMs, atMs));
    const runs = (windowMs: number) => 1 + before(windowMs);
    const step = { chain: chain.id, ability: '', outputs: {}, agent: gear.agent };
    return explainRules([rule], step, runtime.settings.ruleSettings, runs).map(({ fired, value, limit }) => {
      const { id, action, reason } = rule;
      return { rule: id, action, fired, value, limit, ...(reason !== undefined && { reason }) };
    });
  });
}

/** Checks the rules after the last step; a rule that fired before that step is not reported again. */
export async function checkEnd(context: RunContext): Promise<StopReason | undefined> {
  const { active, gate, gear, outputs, rules } = context;
  const { run } = active;
  const before = new Set(context.lastCheck.hits.map(({ rule, seen }) => `${rule}\n${seen}`));
  const check = checkRules(rules, run, { ability: '', agent: gear.agent, args: {}, outputs });
  recordRuleChecks(context, '', check);
  const throttled = new Set(check.rows.flatMap(({ rule, action }) => (action === 'throttle' ? rule : [])));
  const hits = check.hits.filter(({ rule, seen }) => !throttled.has(rule) && !before.has(`${rule}\n${seen}`));
  if (hits.length === 0) return undefined;
  active.question.begin({ step: '', attempt: 1, args: {}, identify: () => digestSteps(active) });
  const end = gate.guard(`the end of ${run.chain.id}`, async () => {}, { match: () => hits });
  const refusal = refusalOf(await end());
  if (refusal === undefined) return undefined;
  return active.question.isParked ? 'parked' : stopForRefusal(active, refusal, check);
}
