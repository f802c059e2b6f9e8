/**
 * Notices a server that is silent: after `health_check_interval_secs` without a line of it, it is asked by `ping`, but
 * only while a call waits for it or its breaker lets a probe pass. In the protocol of 2026-07-28 there is no ping.
 */

import type { UpstreamBreaker, UpstreamCall } from '../guard/entries/upstream-breaker.ts';
import type { Clock } from '../ports/clock.ts';

/** The session whose server is watched. */
export interface WatchedSession {
  /** Whether client and server have exchanged the handshake of the older protocol, and use no newer one. */
  mayPing(): boolean;
  /** Whether a call waits for its answer. */
  hasOpenCall(): boolean;
  ping(onAnswer: () => void): void;
  /** Prints a line for a person. */
  report(line: string): void;
}

export class ServerHealth {
  readonly #clock: Clock;
  readonly #upstream: UpstreamBreaker;
  readonly #session: WatchedSession;
  #heardAtMs = 0;
  #isArmed = false;
  /** The ping that has no answer yet, with the probe that it is. */
  #ping: { probe: UpstreamCall | undefined; isReported: boolean } | undefined;

  constructor(clock: Clock, upstream: UpstreamBreaker, session: WatchedSession) {
    this.#clock = clock;
    this.#upstream = upstream;
    this.#session = session;
  }

  /** Notes a sign of life. */
  noteLine(): void {
    this.#heardAtMs = this.#clock.nowMs();
  }

  /** Begins to watch, when a call was passed on. */
  start(): void {
    if (this.#isArmed || !this.#upstream.settings.enableHealthCheck || !this.#session.mayPing()) return;
    this.noteLine();
    this.#arm(this.#intervalMs);
  }

  get #intervalMs(): number {
    return this.#upstream.settings.healthCheckIntervalSecs * 1000;
  }

  #arm(delayMs: number): void {
    this.#isArmed = true;
    this.#clock.after(delayMs, () => {
      this.#isArmed = false;
      this.#look();
    });
  }

  #look(): void {
    const isClosed = this.#upstream.phase === 'closed';
    if (!this.#session.mayPing() || (isClosed && !this.#session.hasOpenCall())) return;
    const leftMs = this.#heardAtMs + this.#intervalMs - this.#clock.nowMs();
    if (leftMs <= 0 && this.#ping !== undefined) this.#countSilence(this.#ping);
    else if (leftMs <= 0 && (isClosed || this.#upstream.judge() === undefined)) this.#ask(isClosed);
    this.#arm(leftMs > 0 ? leftMs : this.#intervalMs);
  }

  /** Asks the server. At a breaker that is not closed the ping is the probe. */
  #ask(isClosed: boolean): void {
    const admitted = isClosed ? undefined : this.#upstream.admit();
    if (admitted !== undefined && 'code' in admitted) return;
    const ping = { probe: admitted, isReported: false };
    this.#ping = ping;
    this.#session.ping(() => {
      if (this.#ping === ping) this.#ping = undefined;
      ping.probe?.settle('answered');
    });
  }

  /** An answer says nothing about the calls that wait, so it is no success; silence is a failure each time. */
  #countSilence(ping: { probe: UpstreamCall | undefined; isReported: boolean }): void {
    const reason = `The MCP server did not answer a ping for ${this.#intervalMs / 1000} s.`;
    const probe = ping.probe ?? this.#upstream.admit();
    ping.probe = undefined;
    if ('settle' in probe) probe.settle('failed', reason);
    if (!ping.isReported) this.#session.report(reason);
    ping.isReported = true;
  }

  /** Forgets the ping of a server that ended. */
  forget(): void {
    this.#ping?.probe?.settle('unknown');
    this.#ping = undefined;
  }
}
