/** Reads rules from lines, a text with a `<nyaya>` block, a policy file or a chain file. */

import { readFileSync, statSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import type { Chain } from '../../chains/file/chain.ts';
import { chainRules } from '../../chains/file/chain-rules.ts';
import { readParams } from '../../chains/file/params.ts';
import { formatProblem } from '../../chains/file/problem.ts';
import { readChain } from '../../chains/file/read-chain.ts';
import { parseOperatorRules } from '../../core/controls/rules/engine.ts';
import { parseNyaya } from '../../core/controls/rules/nyaya.ts';
import { parseRule, type Rule } from '../../core/controls/rules/rule.ts';
import { createRuleSet } from '../../core/controls/rules/rule-set.ts';
import { SwitchgearError } from '../../core/error.ts';
import { policyBytesMax, rulesMax } from '../../core/limits.ts';
import type { RuleSettings } from '../../core/settings.ts';
import { checkPolicy, parsePolicy } from '../../policy/index.ts';
import type { Terminal } from '../command.ts';
import { describeReadError } from '../process-terminal.ts';

/** The rules of a file. */
export interface RuleFile {
  readonly kind: 'lines' | 'nyaya block' | 'policy' | 'chain';
  /** The number of rules; rules of a chain need its parameters before they can be evaluated. */
  readonly count: number;
  readonly rules: (params: Readonly<Record<string, unknown>>) => readonly Rule[];
  readonly settings: RuleSettings;
  readonly chain?: Chain;
  /** One line per problem, with its line and column if known. */
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

/** The chain id of rules without one. */
export const planId = 'plan';

const { ruleSettings: defaults } = checkPolicy({}).settings;

/** Reads a file of rules and collects its errors; throws if the file cannot be read. */
export function readRuleFile(name: string, { cwd }: Terminal): RuleFile {
  const text = readBoundedFile(resolve(cwd, name), name);
  const extension = extname(name).toLowerCase();
  if (/^\.(ya?ml|json)$/.test(extension) && /^\s*["']?(steps|circuit_breakers)["']?\s*:/m.test(text))
    return readChainRules(text, name);
  if (/^\.(toml|ya?ml|json)$/.test(extension)) return readPolicyRules(text, name);
  return /<nyaya>/i.test(text) ? readBlockRules(text, name) : readRuleLines(text, name);
}

function readChainRules(text: string, name: string): RuleFile {
  const { chain, problems, warnings } = readChain(text, name);
  return {
    kind: 'chain',
    count: chain?.rules.length ?? 0,
    rules: (params) => (chain === undefined ? [] : parseOperatorRules(chainRules(chain, readParams(chain, params)))),
    settings: { ...defaults, ...chain?.ruleSettings },
    ...(chain && { chain }),
    problems: problems.map((problem) => formatProblem(problem, name)),
    warnings: warnings.map((warning) => formatProblem(warning, name)),
  };
}

function readPolicyRules(text: string, name: string): RuleFile {
  try {
    const { settings } = parsePolicy(text, name);
    return makeRuleFile('policy', parseOperatorRules(settings.rules), [], [], settings.ruleSettings);
  } catch (error) {
    if (!(error instanceof SwitchgearError)) throw error;
    return makeRuleFile('policy', [], error.message.split('\n'), []);
  }
}

/** Reads the rules of a model, as for a chain of its own. */
function readBlockRules(text: string, name: string): RuleFile {
  const { rules, errors } = parseNyaya(text, `chain:${planId}`);
  const problems = errors.map((error) => `${name}: ${error}`);
  return makeRuleFile('nyaya block', rules, problems, findDuplicates(rules, name));
}

/** Reads one rule per line; `#` starts a comment. */
function readRuleLines(text: string, name: string): RuleFile {
  const rules: Rule[] = [];
  const problems: string[] = [];
  const lines = text.split('\n');
  if (lines.length > rulesMax) problems.push(`${name}:${rulesMax + 1}:1: there are more than ${rulesMax} lines`);
  lines.slice(0, rulesMax).forEach((line, index) => {
    if (/^\s*(#|$)/.test(line)) return;
    const { rule, error } = parseRule(line);
    if (rule === undefined) problems.push(`${name}:${index + 1}:1: ${error}`);
    else rules.push(rule);
  });
  return makeRuleFile('lines', rules, problems, findDuplicates(rules, name));
}

function makeRuleFile(
  kind: RuleFile['kind'],
  rules: readonly Rule[],
  problems: readonly string[],
  warnings: readonly string[],
  settings: RuleSettings = defaults,
): RuleFile {
  return { kind, count: rules.length, rules: () => createRuleSet(rules).rules, settings, problems, warnings };
}

function findDuplicates(rules: readonly Rule[], name: string): readonly string[] {
  const seenIds = new Set<string>();
  return rules.flatMap(({ id }) => {
    const isNew = !seenIds.has(id);
    seenIds.add(id);
    return isNew ? [] : [`${name}: ${id} stands twice: the later reason holds`];
  });
}

function readBoundedFile(path: string, name: string): string {
  try {
    const { size } = statSync(path);
    if (size > policyBytesMax) throw new Error(`the file has ${size} bytes, at most ${policyBytesMax}`);
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new SwitchgearError('rules_unreadable', `cannot read ${name}: ${describeReadError(error)}`, { cause: error });
  }
}
