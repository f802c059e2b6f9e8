/**
 * Records `switchgear run` as it stops a spiral, and writes the recording to docs/images/run.svg, an animation without
 * scripts. The agent follows a script and prints what Claude Code prints; the output and its pace are those of the run,
 * coloured as at a terminal. `npm run recording` writes the file.
 */

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { FakeAgentStep } from '../src/demo/fake-agent.ts';

/** One line of the terminal, and when it was printed. */
interface RecordedLine {
  readonly text: string;
  readonly atMs: number;
}

const root = new URL('../', import.meta.url);
const prompt = 'Make the failing test pass.';
const typingMs = 1_400;
const restMs = 5_000;
const columns = 98;

const failure = { call: 'Bash', input: 'npm test', fails: "Error: Cannot find module 'left-pad'" };
const script: readonly FakeAgentStep[] = [
  { says: 'I will run the tests first.' },
  failure,
  { says: 'A module is missing. I will look at the imports.' },
  { call: 'Read', input: 'src/pad.ts', gives: "import pad from 'left-pad';" },
  { says: 'The import looks right. I will run the tests again.' },
  ...Array.from({ length: 100 }, () => failure),
];

/** Runs the scripted agent under `switchgear run` and returns the lines it printed. */
async function record(): Promise<{ readonly lines: readonly RecordedLine[]; readonly exitCode: number | null }> {
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-recording-'));
  const agentFile = JSON.stringify(new URL('src/demo/fake-agent.ts', root).href);
  const agent = join(folder, 'claude.mjs');
  writeFileSync(agent, `import { playScript } from ${agentFile};\nawait playScript(${JSON.stringify(script)}, 450);\n`);
  const command = [fileURLToPath(new URL('bin/switchgear.cjs', root)), 'run', '--store', 'memory', '--no-ask'];
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    CLAUDE_CONFIG_DIR: folder,
    XDG_STATE_HOME: folder,
  };
  try {
    const child = spawn(process.execPath, [...command, '--', process.execPath, agent, '-p', prompt], {
      cwd: folder,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const lines: RecordedLine[] = [];
    let firstAt: number | undefined;
    const take = (piece: Buffer) => {
      const now = performance.now();
      firstAt ??= now;
      for (const text of piece.toString('utf8').replace(/\n$/, '').split('\n'))
        lines.push({ text, atMs: Math.round(now - firstAt) });
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    const exitCode = await new Promise<number | null>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', resolve);
    });
    return { lines, exitCode };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const lineHeight = 19;
const charWidth = 7.83;
const padding = 16;
const titleBar = 32;
/** The colour of a line by its beginning, as `run` colours it at a terminal. */
const colours = [
  [/^→/, '#8b949e'],
  [/^✗/, '#ff7b72'],
  [/^switchgear: |^ {2}/, '#e3b341'],
  [/^\(exit/, '#8b949e'],
] as const;

/** Renders the lines as an animation that begins again after a rest. */
export function renderRecording(lines: readonly RecordedLine[], exitCode: number | null): string {
  const typed: RecordedLine[] = [{ text: `$ switchgear run -- claude -p "${prompt}"`, atMs: -typingMs }];
  const endMs = (lines.at(-1)?.atMs ?? 0) + 600;
  const last: RecordedLine = { text: `(exit code ${exitCode})`, atMs: endMs };
  const rows = [...typed, ...lines, last].flatMap(({ text, atMs }) =>
    wrapLine(text).map((part) => ({ text: part, atMs })),
  );
  const totalMs = typingMs + endMs + restMs;
  const height = titleBar + rows.length * lineHeight + 2 * padding;
  const width = Math.round(columns * charWidth + 2 * padding);
  const body = rows.map(({ text, atMs }, index) => {
    const y = titleBar + padding + (index + 1) * lineHeight - 5;
    const percent = Math.max(0, ((atMs + typingMs) / totalMs) * 100);
    return {
      element: `<text class="l${index}" fill="${findColour(text)}" x="${padding}" y="${y}">${escapeText(text)}</text>`,
      percent,
    };
  });
  // A line is invisible until its time; without animations (a print, a reader that stops them) all lines are visible.
  const seconds = (totalMs / 1000).toFixed(1);
  const frames = body.map(({ percent }, index) => {
    const before = Math.max(0, percent - 0.01).toFixed(2);
    const steps = `0%,${before}%{opacity:0}${percent.toFixed(2)}%,100%{opacity:1}`;
    return `@keyframes k${index}{${steps}}.l${index}{animation:k${index} ${seconds}s infinite}`;
  });
  const font = "13px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace";
  const label = 'A terminal: switchgear run stops an agent that runs the same failing test again and again';
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}">`,
    `<style>text{font:${font};white-space:pre}`,
    `@media (prefers-reduced-motion:no-preference){${frames.join('\n')}}</style>`,
    `<rect width="${width}" height="${height}" rx="8" fill="#0d1117" stroke="#30363d"/>`,
    ...[20, 38, 56].map((x) => `<circle cx="${x}" cy="17" r="5" fill="#484f58"/>`),
    ...body.map(({ element }) => element),
    '</svg>\n',
  ].join('\n');
}

/** Breaks a line at a blank before the last column. */
function wrapLine(text: string): readonly string[] {
  const parts: string[] = [];
  let rest = text;
  while (rest.length > columns) {
    const cut = rest.lastIndexOf(' ', columns);
    if (cut <= 4) break;
    parts.push(rest.slice(0, cut));
    rest = `    ${rest.slice(cut + 1)}`;
  }
  return [...parts, rest];
}

function findColour(text: string): string {
  return colours.find(([pattern]) => pattern.test(text))?.[1] ?? '#e6edf3';
}

function escapeText(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { lines, exitCode } = await record();
  if (exitCode !== 75) throw new Error(`the run was not halted: exit code ${exitCode}`);
  mkdirSync(new URL('docs/images/', root), { recursive: true });
  writeFileSync(new URL('docs/images/run.svg', root), renderRecording(lines, exitCode));
  process.stdout.write(`docs/images/run.svg: ${lines.length} lines\n`);
}
