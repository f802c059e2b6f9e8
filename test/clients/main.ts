/**
 * `npm run test:clients [-- CLIENT|STORY …]`: `switchgear run` with real agent CLIs, installed from npm into a folder
 * of their own, before a scripted model on loopback. The stories run in a network namespace that has nothing else.
 * `npm run test:clients -- daily [CLIENT|STORY|SURFACE …]` plays daily work, `daily-ci` the most telling part of it.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildCommand } from '../built-command.ts';
import { attackStories } from './attack-stories.ts';
import { type Client, clients } from './clients.ts';
import { playDaily, playTelling } from './daily.ts';
import { gatewayStories } from './gateway-stories.ts';
import { mcpStories } from './mcp-stories.ts';
import { stories as spiralStories } from './stories.ts';

const stories = { ...spiralStories, ...gatewayStories, ...attackStories, ...mcpStories };
const here = fileURLToPath(import.meta.url);
const inside = '--inside';

/** Installs the CLIs; `SWITCHGEAR_CLIENTS` names a folder that keeps them. */
function install(folder: string, wanted: readonly Client[]): void {
  const missing = wanted.filter((client) => installedVersion(folder, client) !== client.version);
  if (missing.length === 0) return;
  const packages = missing.map((client) => `${client.package}@${client.version}`);
  console.log(`installing ${packages.join(', ')}`);
  const { status } = spawnSync('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', ...packages], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) throw new Error('the CLIs could not be installed');
}

function installedVersion(folder: string, { name, package: from }: Client): string | undefined {
  const modules = join(folder, 'node_modules');
  const manifest = join(modules, from, 'package.json');
  if (!existsSync(join(modules, '.bin', name)) || !existsSync(manifest)) return undefined;
  return JSON.parse(readFileSync(manifest, 'utf8')).version;
}

const namespace = ['--net', ...(process.getuid?.() === 0 ? [] : ['--map-root-user'])];

/** Runs a command where no network is but loopback. */
function unshare(command: readonly string[], stdio: 'inherit' | 'pipe') {
  const script = 'ip link set lo up && exec "$@"';
  return spawnSync('unshare', [...namespace, 'sh', '-c', script, 'sh', ...command], { stdio, encoding: 'utf8' });
}

/** Fails where the stories could not be told. */
function checkMachine(): void {
  const { status, error, stderr } = unshare(['true'], 'pipe');
  if (status === 0) return;
  const why = error?.message ?? stderr.trim();
  throw new Error(`this needs Linux, with unshare and ip, and the right to a network namespace: ${why}`);
}

/** Starts this file again where no network is but loopback. */
function withoutNetwork(folder: string): number {
  return unshare([process.execPath, here, inside, folder, ...process.argv.slice(2)], 'inherit').status ?? 1;
}

async function play(folder: string, wanted: readonly string[]): Promise<number> {
  const rows: string[][] = [];
  for (const client of clients) {
    for (const [title, story] of Object.entries(stories)) {
      const isWanted = (name: string) => wanted.includes(name) || !wanted.some((each) => each in kinds(name));
      if (!isWanted(client.name) || !isWanted(title) || client.without?.includes(title)) continue;
      const began = performance.now();
      let told: string;
      let verdict = 'ok';
      try {
        told = await story(client, folder);
      } catch (error) {
        verdict = 'FAILED';
        told = error instanceof Error ? error.message : String(error);
        process.exitCode = 1;
      }
      const seconds = `${((performance.now() - began) / 1000).toFixed(1)} s`;
      console.log(`${verdict === 'ok' ? 'ok    ' : verdict} ${client.name} · ${title} · ${told} (${seconds})`);
      rows.push([client.name, title, verdict, told.split('\n')[0]!]);
    }
  }
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]!.length)));
  console.log('');
  for (const row of rows) console.log(row.map((text, column) => text.padEnd(widths[column] ?? 0)).join('  '));
  return rows.length === 0 || rows.some(([, , verdict]) => verdict !== 'ok') ? 1 : 0;
}

/** All names of the kind that this one is of. */
function kinds(name: string): object {
  return name in stories ? stories : Object.fromEntries(clients.map((client) => [client.name, client]));
}

/** Plays what the words of the command line select. */
function playWanted(folder: string, words: readonly string[]): Promise<number> {
  const [kind, ...more] = words;
  if (kind === 'daily') return playDaily(folder, more);
  return kind === 'daily-ci' ? playTelling(folder) : play(folder, words);
}

/** The clients that the words of the command line need. */
function neededFor(words: readonly string[]): readonly Client[] {
  if (words[0] === 'daily-ci') return clients.filter(({ name }) => name === 'claude');
  const named = clients.filter(({ name }) => words.includes(name));
  return named.length === 0 ? clients : named;
}

/** Daily work has hundreds of hooks: they are asked as a package has them, and of one state of the source. */
function buildFor([kind = '']: readonly string[], folder: string): void {
  if (kind.startsWith('daily')) process.env.BUILT_COMMAND ??= buildCommand(join(folder, 'command'));
}

const [first, ...rest] = process.argv.slice(2);
if (first === inside) process.exitCode = await playWanted(rest[0]!, rest.slice(1));
else {
  const words = process.argv.slice(2);
  checkMachine();
  const folder = mkdtempSync(join(tmpdir(), 'switchgear-clients-'));
  const kept = process.env.SWITCHGEAR_CLIENTS ?? folder;
  try {
    install(kept, neededFor(words));
    buildFor(words, folder);
    process.exitCode = withoutNetwork(kept);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
