/** What a step can do: a name, and something that does it. */

/** How an ability is called. */
export interface AbilityCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Aborts when the step's time is up, or the run is halted or cancelled. */
  readonly signal: AbortSignal;
  /** The same for every attempt of this step of this run: for services that take an idempotency key. */
  readonly attemptKey: string;
}

/** Where abilities come from: an MCP server, functions in code, or what is built in. */
export interface AbilitySource {
  /** Whether the name is one of its own, and who does it; a source that is not there yet may be started here. */
  find(name: string): Promise<Ability | undefined>;
  /** Names it has, as far as it can say, for messages. */
  names(): Promise<readonly string[]>;
  close(): Promise<void>;
}

export interface Ability {
  readonly name: string;
  /** Which calls share one breaker: `shared` for servers that everybody calls, else by agent. */
  readonly scope: 'shared' | 'agent';
  /** Runs it. A failure throws; what comes back is plain JSON. */
  run(call: AbilityCall): Promise<unknown>;
}
