/** Reads the policy of a command again while it runs. */

import { resolve } from 'node:path';
import type { CheckedPolicy } from '../../policy/check/check-policy.ts';
import { findPolicy, readPolicyText } from '../../policy/file/files.ts';
import type { Terminal } from '../command.ts';
import { describeWaiting } from './describe-policy.ts';
import { type CallerPlace, loadPolicyInForce } from './policy-in-force.ts';

/**
 * Creates a function that returns the policy in force: the same object while nothing changed. The file is checked only
 * if its text has changed, or if a change of it waits for trust: an agent may have written it, so it tightens at once,
 * and loosens after trust that is given later. A file with a problem changes nothing, and is reported once.
 * `waitsAtFirst`: a part of the policy waited for trust from the start.
 */
export function createPolicyReader(
  started: CheckedPolicy,
  policyOption: string | undefined,
  terminal: Terminal,
  place: CallerPlace,
  waitsAtFirst = false,
): () => Promise<CheckedPolicy> {
  const earlier = { settings: started.settings, atMs: Date.now() };
  let policy = started;
  let text = readText(policyOption, terminal);
  let isWaiting = waitsAtFirst;
  let reported = '';
  const report = (message: string) => {
    if (message !== reported && message !== '') terminal.err(`warning: ${message}`);
    reported = message;
  };
  return async () => {
    try {
      const now = readText(policyOption, terminal);
      if (now === text && !isWaiting) return policy;
      const inForce = await loadPolicyInForce(policyOption, terminal, place, earlier);
      text = now;
      isWaiting = inForce.waiting.length > 0;
      report(isWaiting ? describeWaiting(inForce) : '');
      if (JSON.stringify(inForce.policy.settings) !== JSON.stringify(policy.settings)) policy = inForce.policy;
    } catch (error) {
      report(`the policy is not read again: ${error instanceof Error ? error.message : String(error)}`);
    }
    return policy;
  };
}

/** The text of the policy file; empty without one. */
function readText(policyOption: string | undefined, terminal: Terminal): string {
  const given = policyOption ?? terminal.env.SWITCHGEAR_POLICY;
  const path = given ? resolve(terminal.cwd, given) : findPolicy(terminal.cwd, terminal);
  return path === undefined ? '' : readPolicyText(path);
}
