/** The command `switchgear rules`: checks rules and shows the result of each rule for a call or a step. */

import { explainCall, explainRules, type RuleExplanation } from '../../core/controls/rules/evaluate.ts';
import { printRule, type Rule } from '../../core/controls/rules/rule.ts';
import { formatCount, sanitizeText } from '../../operator/format.ts';
import { type Command, exitCodes, readArgs, type Terminal, usageError, verbError } from '../command.ts';
import { createPaint, formatTable } from '../terminal-table.ts';
import { planId, type RuleFile, readRuleFile } from './rule-file.ts';

const valueOptions = ['--tool', '--args', '--outputs', '--params', '--agent', '--chain'];

export const command: Command = {
  usage: [
    'rules lint FILE [--json]         check rules: lines, a <nyaya> block, a policy or a chain',
    'rules explain FILE --tool NAME   print the result of each rule for a call [--args JSON] [--agent NAME] [--json]',
    'rules explain FILE --tool NAME --outputs JSON   the same for a step of a chain [--params JSON] [--chain ID]',
  ],
  run([verb, ...args], terminal) {
    if (verb === 'lint') return lintRules(args, terminal);
    if (verb === 'explain') return explainRuleFile(args, terminal);
    throw verbError('rules', ['lint', 'explain'], verb);
  },
};

function lintRules(args: readonly string[], terminal: Terminal): number {
  const { positionals, switches } = readArgs(args, ['--json'], 1);
  const name = requireFileName(positionals);
  const { kind, count: rules, problems, warnings } = readRuleFile(name, terminal);
  if (switches.has('--json')) terminal.out(JSON.stringify({ file: name, kind, rules, problems, warnings }, null, 2));
  else {
    for (const line of problems) terminal.out(sanitizeText(line));
    for (const line of warnings) terminal.out(`warning: ${sanitizeText(line)}`);
    if (problems.length === 0) terminal.out(`OK: ${name} (${kind}, ${formatCount(rules, 'rule')})`);
  }
  return problems.length === 0 ? exitCodes.ok : exitCodes.error;
}

function explainRuleFile(args: readonly string[], terminal: Terminal): number {
  const { positionals, switches, values } = readArgs(args, ['--json'], 1, valueOptions);
  const name = requireFileName(positionals);
  const tool = values.get('--tool');
  if (tool === undefined)
    throw usageError('rules explain: missing option --tool NAME, the tool or ability to be called');
  const file = readRuleFile(name, terminal);
  if (file.problems.length > 0) {
    for (const line of file.problems) terminal.err(sanitizeText(line));
    return exitCodes.error;
  }
  const rules = file.rules(parseJsonObject(values, '--params') ?? {});
  const rows = evaluateRules(rules, file, tool, values);
  // A frequency rule needs the counts of a store.
  const uncounted = rules.filter(({ condition }) => condition.kind === 'frequency');
  if (switches.has('--json'))
    terminal.out(
      JSON.stringify({ file: name, tool, ...summarizeVerdict(rows), rules: rows.map(formatRowData) }, null, 2),
    );
  else for (const line of formatRuleTable(rows, uncounted, terminal)) terminal.out(line);
  return exitCodes.ok;
}

/** Evaluates rules for a step if the file is a chain or `--outputs` is present, else for a single call. */
function evaluateRules(
  rules: readonly Rule[],
  { kind, chain, settings }: RuleFile,
  tool: string,
  values: ReadonlyMap<string, string>,
): readonly RuleExplanation[] {
  const args = parseJsonObject(values, '--args') ?? {};
  const outputs = parseJsonObject(values, '--outputs');
  const agent = values.get('--agent');
  const isStep = kind === 'nyaya block' || outputs !== undefined;
  const inChain = values.get('--chain') ?? chain?.id ?? (isStep ? planId : undefined);
  if (inChain === undefined) return explainCall(rules, { tool, agent: agent ?? 'agent', args: [args] }, settings);
  const params = parseJsonObject(values, '--params') ?? {};
  return explainRules(rules, { chain: inChain, ability: tool, outputs: outputs ?? {}, args, params, agent }, settings);
}

function summarizeVerdict(rows: readonly RuleExplanation[]): { readonly verdict: string; readonly fired: number } {
  const fired = rows.filter((row) => row.fired).map((row) => row.rule.action);
  const verdict = (['abort', 'confirm', 'throttle'] as const).find((action) => fired.includes(action)) ?? 'pass';
  return { verdict, fired: fired.length };
}

function formatRowData({ rule, fired, value, limit }: RuleExplanation) {
  return {
    rule: rule.id,
    action: rule.action,
    fired,
    value,
    limit,
    ...(rule.reason !== undefined && { reason: rule.reason }),
  };
}

function formatRuleTable(
  rows: readonly RuleExplanation[],
  uncounted: readonly Rule[],
  terminal: Terminal,
): readonly string[] {
  const head = ['', 'rule', 'value', 'limit', 'target'].map((text) => ({ text, style: 'dim' }) as const);
  const body = rows.map(({ rule, fired, value, limit }) => [
    { text: fired ? 'FIRED' : 'passed', style: fired ? ('red' as const) : ('green' as const) },
    { text: printRule({ ...rule, reason: undefined }) },
    { text: value },
    { text: limit },
    { text: rule.target },
  ]);
  const { verdict, fired } = summarizeVerdict(rows);
  const reasons = rows
    .filter((row) => row.fired && row.rule.action === verdict)
    .flatMap((row) => row.rule.reason ?? []);
  const cleanReasons = reasons.map(sanitizeText);
  return [
    ...(rows.length > 0 ? formatTable([head, ...body], createPaint(terminal)) : []),
    ...uncounted.map((rule) => `  not counted here: ${sanitizeText(printRule(rule))}`),
    `${formatCount(rows.length, 'rule')} evaluated, ${fired} fired: ${[verdict, ...cleanReasons].join('; ')}`,
  ];
}

function requireFileName(positionals: readonly string[]): string {
  const [name] = positionals;
  if (name === undefined) throw usageError('rules: missing argument FILE');
  return name;
}

function parseJsonObject(
  values: ReadonlyMap<string, string>,
  option: string,
): Readonly<Record<string, unknown>> | undefined {
  const text = values.get(option);
  if (text === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch {
    // Reported below.
  }
  throw usageError(`${option} must be a JSON object, as in '{"amount": 750}', got ${text.slice(0, 60)}`);
}
