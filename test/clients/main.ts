/**
 * `npm run test:clients [-- CLIENT|STORY …]`: `switchgear run` with real agent CLIs, installed from npm into a folder
 * of their own, before a scripted model on loopback. The stories run in a network namespace that has nothing else.
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { attackStories } from './attack-stories.ts';
import { clients } from './clients.ts';
import { gatewayStories } from './gateway-stories.ts';
import { mcpStories } from './mcp-stories.ts';
import { stories as spiralStories } from './stories.ts';

const stories = { ...spiralStories, ...gatewayStories, ...attackStories, ...mcpStories };
const here = fileURLToPath(import.meta.url);
const inside = '--inside';

/** Installs the CLIs; `SWITCHGEAR_CLIENTS` names a folder that keeps them. */
function install(folder: string): void {
  if (clients.every(({ name }) => existsSync(join(folder, 'node_modules', '.bin', name)))) return;
  const packages = clients.map((client) => `${client.package}@${client.version}`);
  console.log(`installing ${packages.join(', ')}`);
  const { status } = spawnSync('npm', ['install', '--prefix', folder, '--no-audit', '--no-fund', ...packages], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) throw new Error('the CLIs could not be installed');
}

/** Starts this file again where no network is but loopback. */
function withoutNetwork(folder: string): number {
  const flags = process.getuid?.() === 0 ? ['--net'] : ['--net', '--map-root-user'];
  const script = 'ip link set lo up && exec "$@"';
  const again = [process.execPath, here, inside, folder, ...process.argv.slice(2)];
  const { status, error } = spawnSync('unshare', [...flags, 'sh', '-c', script, 'sh', ...again], { stdio: 'inherit' });
  if (error !== undefined) throw new Error('this needs Linux, with unshare and ip', { cause: error });
  return status ?? 1;
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

const [first, ...rest] = process.argv.slice(2);
if (first === inside) process.exitCode = await play(rest[0]!, rest.slice(1));
else {
  const kept = process.env.SWITCHGEAR_CLIENTS;
  const folder = kept ?? mkdtempSync(join(tmpdir(), 'switchgear-clients-'));
  try {
    install(folder);
    process.exitCode = withoutNetwork(folder);
  } finally {
    if (kept === undefined) rmSync(folder, { recursive: true, force: true });
  }
}
