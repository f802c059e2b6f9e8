/** Plays the demo, scene by scene, and says whether everything came as it should. */

import { spirals } from './failing-tools.ts';
import { trespasses } from './forbidden-actions.ts';
import { createPage } from './render.ts';
import { openTheatre, type Theatre } from './run-scene.ts';
import { runs } from './runs.ts';
import { createStage, faultsOf, type Played, type Scene } from './scene.ts';

interface Act {
  readonly heading: string;
  readonly more: string;
  readonly scenes: readonly Scene[];
}

const acts: readonly Act[] = [
  {
    heading: 'An agent that somebody else wrote: watched, and ended with all it started',
    more: 'Each is a process under switchgear run. claude is a stand-in that prints what Claude Code prints.',
    scenes: runs,
  },
  {
    heading: 'Your own agent: its tools are wrapped, and a call is refused before it runs',
    more: 'Each is a script of calls on the library. Time is simulated.',
    scenes: [...spirals, ...trespasses],
  },
];

export async function playDemo(out: (line: string) => void, coloured: boolean, leave?: AbortSignal): Promise<boolean> {
  const theatre = openTheatre();
  const forget = closeAtSignals(theatre);
  const isLeft = () => leave?.aborted === true;
  try {
    return await playAll(theatre, out, coloured, isLeft);
  } finally {
    forget();
    theatre.close();
  }
}

async function playAll(
  theatre: Theatre,
  out: (line: string) => void,
  coloured: boolean,
  isLeft: () => boolean,
): Promise<boolean> {
  const page = createPage(coloured);
  const rows: { scene: Scene; played: Played; ok: boolean }[] = [];
  for (const line of page.opening()) out(line);
  for (const { heading, more, scenes } of acts) {
    for (const line of page.heading(heading, more)) out(line);
    // Processes take their time to start: the next ones begin while the first are shown.
    const begun = scenes.map((scene) => scene.play(createStage(theatre)));
    for (const failing of begun) failing.catch(() => undefined); // Said where it is awaited.
    for (const [at, scene] of scenes.entries()) {
      const played = await begun[at]!;
      if (isLeft()) return false;
      const faults = faultsOf(scene, played);
      rows.push({ scene, played, ok: faults.length === 0 });
      for (const line of page.scene(rows.length, scene, played, faults)) out(line);
    }
  }
  for (const line of page.closing(rows)) out(line);
  return rows.every(({ ok }) => ok);
}

/** Somebody who has seen enough leaves nothing behind, either. */
function closeAtSignals(theatre: Theatre): () => void {
  const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
  const named = Object.entries(codes).map(([signal, code]) => {
    const end = () => {
      theatre.close();
      process.exit(code);
    };
    process.once(signal, end);
    return () => void process.removeListener(signal, end);
  });
  return () => {
    for (const forget of named) forget();
  };
}
