/** Plays the demo scene by scene, and returns whether every scene ended as expected. */

import { agentRunScenes } from './agent-run-scenes.ts';
import { type AgentRunner, createAgentRunner } from './agent-runner.ts';
import { failingToolScenes } from './failing-tools.ts';
import { forbiddenActionScenes } from './forbidden-actions.ts';
import { createDemoRenderer } from './render.ts';
import { createSceneContext, findFaults, type Scene, type SceneResult } from './scene.ts';

interface DemoSection {
  readonly heading: string;
  readonly intro: string;
  readonly scenes: readonly Scene[];
}

const sections: readonly DemoSection[] = [
  {
    heading: 'An agent that somebody else wrote: watched, and ended with all it started',
    intro: 'Each is a process under switchgear run. claude is a stand-in that prints what Claude Code prints.',
    scenes: agentRunScenes,
  },
  {
    heading: 'Your own agent: its tools are wrapped, and a call is refused before it runs',
    intro: 'Each is a script of calls on the library. Time is simulated.',
    scenes: [...failingToolScenes, ...forbiddenActionScenes],
  },
];

export async function playDemo(
  out: (line: string) => void,
  coloured: boolean,
  stopSignal?: AbortSignal,
): Promise<boolean> {
  const runner = createAgentRunner();
  const removeListener = closeOnSignals(runner);
  const isStopped = () => stopSignal?.aborted === true;
  try {
    return await playSections(runner, out, coloured, isStopped);
  } finally {
    removeListener();
    runner.close();
  }
}

async function playSections(
  runner: AgentRunner,
  out: (line: string) => void,
  coloured: boolean,
  isStopped: () => boolean,
): Promise<boolean> {
  const renderer = createDemoRenderer(coloured);
  const rows: { scene: Scene; result: SceneResult; ok: boolean }[] = [];
  for (const line of renderer.renderOpening()) out(line);
  for (const { heading, intro, scenes } of sections) {
    for (const line of renderer.renderHeading(heading, intro)) out(line);
    // Processes start slowly, so the next scenes start while the first are shown.
    const pendingScenes = scenes.map((scene) => scene.play(createSceneContext(runner)));
    // The error is reported where the scene is awaited.
    for (const pendingScene of pendingScenes) pendingScene.catch(() => undefined);
    for (const [at, scene] of scenes.entries()) {
      const result = await pendingScenes[at]!;
      if (isStopped()) return false;
      const faults = findFaults(scene, result);
      rows.push({ scene, result, ok: faults.length === 0 });
      for (const line of renderer.renderScene(rows.length, scene, result, faults)) out(line);
    }
  }
  for (const line of renderer.renderClosing(rows)) out(line);
  return rows.every(({ ok }) => ok);
}

/** Removes all processes and files when the user interrupts the demo. */
function closeOnSignals(runner: AgentRunner): () => void {
  const codes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
  const removers = Object.entries(codes).map(([signal, code]) => {
    const end = () => {
      runner.close();
      process.exit(code);
    };
    process.once(signal, end);
    return () => void process.removeListener(signal, end);
  });
  return () => {
    for (const removeListener of removers) removeListener();
  };
}
