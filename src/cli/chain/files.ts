/** The commands `switchgear chain lint` and `chain graph`: check and draw chain files without running them. */

import { resolve } from 'node:path';
import { renderGraph } from '../../chains/file/graph.ts';
import { formatProblem } from '../../chains/file/problem.ts';
import { type ChainReading, loadChain, readChain, readChainText } from '../../chains/file/read-chain.ts';
import { SwitchgearError } from '../../core/error.ts';
import { formatCount, sanitizeText } from '../../operator/format.ts';
import { exitCodes, readArgs, type Terminal, usageError } from '../command.ts';
import { loadEffectivePolicy } from '../policy/load-policy.ts';

const filesMax = 1_000;

/** Exits with 2 if a file has errors; warnings are printed and do not change the exit code. */
export async function lintChains(args: readonly string[], terminal: Terminal): Promise<number> {
  const { positionals: files, switches, values } = readArgs(args, ['--json'], filesMax, ['--policy']);
  if (files.length === 0) throw usageError('chain lint: missing argument FILE');
  const { policy } = await loadEffectivePolicy(values.get('--policy'), terminal);
  const { ruleSettings } = policy.settings;
  const readings = files.map((file) => ({ file, ...readChainFile(file, terminal.cwd, ruleSettings) }));
  if (switches.has('--json')) {
    const shown = readings.map(({ file, problems, warnings }) => ({ file, problems, warnings }));
    terminal.out(JSON.stringify(shown, null, 2));
  } else for (const each of readings) printReading(each, terminal);
  return readings.some(({ problems }) => problems.length > 0) ? exitCodes.usage : exitCodes.ok;
}

function readChainFile(file: string, cwd: string, settings: Parameters<typeof readChain>[2]): ChainReading {
  try {
    return readChain(readChainText(resolve(cwd, file), file), file, settings);
  } catch (error) {
    if (!(error instanceof SwitchgearError)) throw error;
    const message = error.message.replace(`${file}:1:1: `, '');
    return { problems: [{ line: 1, column: 1, path: '', message }], warnings: [] };
  }
}

function printReading({ file, problems, warnings }: ChainReading & { readonly file: string }, { out }: Terminal): void {
  for (const problem of problems) out(sanitizeText(formatProblem(problem, file)));
  for (const warning of warnings)
    out(sanitizeText(formatProblem({ ...warning, message: `warning: ${warning.message}` }, file)));
  if (problems.length > 0) out(`${sanitizeText(file)} cannot be used: ${formatCount(problems.length, 'problem')}.`);
  else if (warnings.length > 0)
    out(`${sanitizeText(file)} can be run, with ${formatCount(warnings.length, 'warning')}.`);
  else out(`OK: ${sanitizeText(file)}`);
}

export function graphChain(args: readonly string[], { cwd, out }: Terminal): number {
  const [file] = readArgs(args, [], 1).positionals;
  if (file === undefined) throw usageError('chain graph: missing argument FILE');
  out(renderGraph(loadChain(resolve(cwd, file), file)).trimEnd());
  return exitCodes.ok;
}
