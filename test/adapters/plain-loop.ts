/** An agent written by hand, for what brings no loop of its own: it follows a script and runs the calls. */

import type { Switchgear, Task } from 'switchgear';
import type { HostScene, HostTranscript } from 'switchgear/testing';

/** Runs one call and gives the text that the model is shown. */
export type RunCall = (tool: string, input: Record<string, unknown>) => Promise<string>;

/** Plays a scene inside a task of the gear; a halt of the task ends the loop with its words. */
export async function playScene(scene: HostScene, runCall: RunCall): Promise<HostTranscript> {
  const { gear } = scene;
  const transcript: { -readonly [K in keyof HostTranscript]: HostTranscript[K] } = {
    modelCalls: 0,
    toolResults: [],
    answer: '',
    halt: undefined,
    approvalsAsked: 0,
    messages: [],
  };
  const loop = async (task?: Task) => {
    const messages: unknown[] = [];
    const toolResults: string[] = [];
    Object.assign(transcript, { messages, toolResults });
    for (let step = 0; step < scene.stepsMax; step++) {
      const turn = scene.turns[Math.min(step, scene.turns.length - 1)] ?? {};
      transcript.modelCalls++;
      const results = await Promise.all((turn.calls ?? []).map(({ tool, input = {} }) => runCall(tool, input)));
      toolResults.push(...results);
      messages.push({ turn, results });
      transcript.answer = task?.halt?.message ?? turn.text ?? '';
      if (results.length === 0 || task?.halt !== undefined) return;
    }
  };
  if (gear === undefined) await loop();
  else transcript.halt = await runInTask(gear, loop);
  return transcript;
}

async function runInTask(gear: Switchgear, loop: (task: Task) => Promise<void>): Promise<HostTranscript['halt']> {
  const result = await gear.task({}, loop);
  return result.status === 'halted' ? result.halt.code : undefined;
}
