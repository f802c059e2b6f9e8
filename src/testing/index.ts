/** The door `switchgear/testing`: what tests of agents, tools and stores need. */

export { type Line, type Stage, type Step, scriptedAgent, type Transcript } from './scripted-agent.ts';
export { promisesSettled, type SimulatedClock, simulatedClock, simulatedWallMs } from './simulated-clock.ts';
