/** Entry point `switchgear/testing`: clocks, scripted agents and suites for tests of agents, tools and stores. */

export { type Replay, type ReplayDifference, replay } from '../core/replay/replay.ts';
export type { ReplayOptions } from '../core/replay/state.ts';
export type { HostAbility, HostHarness, HostScene, HostTool, HostTranscript, HostTurn } from './adapter-harness.ts';
export { adapterSuite } from './adapter-suite.ts';
export { type AnsweredApprover, approverSuite, type MakeApprover } from './approver-suite.ts';
export {
  type ScriptStage,
  type ScriptStep,
  scriptedAgent,
  type Transcript,
  type TranscriptLine,
} from './scripted-agent.ts';
export { promisesSettled, type SimulatedClock, simulatedClock, simulatedWallMs } from './simulated-clock.ts';
export { type MakeStore, storeSuite } from './store-suite.ts';
