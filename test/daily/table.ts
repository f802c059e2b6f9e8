/** Plays stories on every surface at every speed, and shows what happened as a table. */

import type { PresetName } from '../../src/policy/index.ts';
import type { Played } from './played.ts';
import { players, speeds } from './players.ts';
import type { Story } from './story.ts';

/** What happened to one story, by the surface and the speed. */
export interface PlayedStory {
  readonly story: Story;
  readonly played: Readonly<Record<string, Played>>;
}

/** The columns of the table: a surface and a speed. */
export const columns: readonly string[] = Object.keys(players).flatMap((surface) =>
  speeds.map((secs) => nameColumn(surface, secs)),
);

/** Plays a story everywhere. */
export async function playEverywhere(story: Story, preset: PresetName = 'coding'): Promise<PlayedStory> {
  const played: Record<string, Played> = {};
  for (const [surface, play] of Object.entries(players)) {
    for (const turnSecs of speeds) played[nameColumn(surface, turnSecs)] = await play(story, { turnSecs, preset });
  }
  return { story, played };
}

function nameColumn(surface: string, turnSecs: number): string {
  return `${surface} ${turnSecs} s`;
}

/** A table in markdown: a row for each story, a column for each surface and speed. */
export function formatTable(rows: readonly PlayedStory[]): string {
  const head = ['story', 'turns', ...columns];
  const body = rows.map(({ story, played }) => [
    `${story.kind === 'bad' ? '✗' : '✓'} ${story.name}`,
    String(countTurns(story)),
    ...columns.map((column) => formatPlayed(played[column])),
  ]);
  return [head, head.map(() => '---'), ...body].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** The page of the documentation. */
export function formatPage(rows: readonly PlayedStory[]): string {
  const healthy = rows.filter(({ story }) => story.kind === 'healthy').length;
  const counts = `${healthy} do honest work (✓), ${rows.length - healthy} run away (✗)`;
  return `# Daily work

Each row is a scripted agent: ${counts}. Each is played through the library, the hooks of
Claude Code, the gateway and \`switchgear run\` (for Claude Code and Codex), with a model that answers at once and with
one that needs 6 seconds. The policy is \`preset = "coding"\`. The agents ignore hints and refusals; only a halt stops
them.

\`·\` means untouched. \`hint@5\` means that the model was told something with its fifth answer, \`refused@6\` that a
call was refused, \`halt@8\` that the task ended, \`1 card\` that a person was told and nothing was held.

The scripts are in \`test/daily\`. \`node test/daily/main.ts --write\` plays them again and writes this page.

${formatTable(rows)}
`;
}

/** The words of each story that was touched, once for each difference between surfaces. */
export function formatWords(rows: readonly PlayedStory[]): string {
  const lines = rows.flatMap(({ story, played }) => {
    const told = new Map<string, string[]>();
    for (const [column, { words }] of Object.entries(played))
      if (words !== undefined) told.set(words, [...(told.get(words) ?? []), column]);
    return [...told].map(([words, where]) => `${story.name} (${where.join(', ')}): ${words.replace(/\s+/g, ' ')}`);
  });
  return lines.join('\n');
}

function countTurns({ steps }: Story): number {
  return steps.filter((step) => 'say' in step || 'calls' in step).length;
}

function formatPlayed(played: Played | undefined): string {
  if (played === undefined) return '';
  const { hintedAt, askedAt, refusedAt, haltedAt, code = '', cards } = played;
  const told = [
    hintedAt !== undefined && `hint@${hintedAt}`,
    askedAt !== undefined && `ask@${askedAt}`,
    refusedAt !== undefined && `refused@${refusedAt}${haltedAt === undefined ? ` ${code}` : ''}`,
    haltedAt !== undefined && `halt@${haltedAt} ${code}`,
    haltedAt === undefined && cards > 0 && `${cards} ${cards === 1 ? 'card' : 'cards'}`,
  ];
  return told.filter((each) => each !== false).join(' ') || '·';
}
