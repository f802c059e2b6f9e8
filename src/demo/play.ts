/** Plays the demo, scene by scene, and says whether every agent was stopped as it should be. */

import { createPage } from './page.ts';
import { createStage, faultsOf, type Played, type Scene } from './scene.ts';
import { spirals } from './spirals.ts';
import { trespasses } from './trespasses.ts';

export async function playDemo(out: (line: string) => void, coloured: boolean): Promise<boolean> {
  const page = createPage(coloured);
  const rows: { scene: Scene; played: Played; ok: boolean }[] = [];
  for (const line of page.opening()) out(line);
  for (const scene of [...spirals, ...trespasses]) {
    const played = await scene.play(createStage());
    const faults = faultsOf(scene, played);
    rows.push({ scene, played, ok: faults.length === 0 });
    for (const line of page.scene(rows.length, scene, played, faults)) out(line);
  }
  for (const line of page.closing(rows)) out(line);
  return rows.every(({ ok }) => ok);
}
