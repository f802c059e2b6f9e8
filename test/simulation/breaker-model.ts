/** What a breaker should do, told a second time and plainly: the simulation compares the real one with it. */

export interface BreakerRule {
  readonly threshold: number;
  readonly recoveryMs: number;
  readonly successes: number;
  readonly permits: number;
  readonly leaseMs: number;
}

/** A call that the model saw begin. */
export interface Ticket {
  readonly period: number;
  readonly probe: boolean;
  readonly lease: { untilMs: number };
}

export interface BreakerModel {
  held: boolean;
  /** Whether a call at this time has to be refused. */
  refuses(rule: BreakerRule, atMs: number): boolean;
  refused(rule: BreakerRule, atMs: number): void;
  begins(rule: BreakerRule, atMs: number): Ticket;
  ends(ticket: Ticket, outcome: 'success' | 'failure' | 'neutral', rule: BreakerRule, atMs: number): void;
  renew(ticket: Ticket, rule: BreakerRule, atMs: number): void;
  open(rule: BreakerRule, atMs: number): void;
  reset(): void;
  readonly phase: 'closed' | 'open' | 'half-open';
}

export function breakerModel(): BreakerModel {
  let phase: 'closed' | 'open' | 'half-open' = 'closed';
  let period = 0;
  let failures = 0;
  let good = 0;
  let untilMs = 0;
  let probes: Ticket[] = [];

  function move(to: typeof phase): void {
    phase = to;
    period++;
    failures = 0;
    good = 0;
    probes = [];
  }

  function open(rule: BreakerRule, atMs: number): void {
    move('open');
    untilMs = atMs + rule.recoveryMs;
  }

  const isLost = (atMs: number) => probes.some(({ lease }) => atMs >= lease.untilMs);

  return {
    held: false,
    refuses(rule, atMs) {
      if (this.held) return true;
      if (phase === 'closed') return false;
      if (phase === 'open') return atMs < untilMs;
      return isLost(atMs) || probes.length >= rule.permits;
    },
    refused(rule, atMs) {
      if (phase === 'half-open' && isLost(atMs)) open(rule, atMs);
    },
    begins(rule, atMs) {
      if (phase === 'open') move('half-open');
      const probe = phase === 'half-open';
      const ticket = { period, probe, lease: { untilMs: atMs + rule.leaseMs } };
      if (probe) probes.push(ticket);
      return ticket;
    },
    ends(ticket, outcome, rule, atMs) {
      if (ticket.period !== period || phase === 'open') return;
      if (phase === 'closed') {
        if (outcome === 'success') failures = 0;
        if (outcome === 'failure' && ++failures >= rule.threshold) open(rule, atMs);
        return;
      }
      if (!probes.includes(ticket)) return;
      probes = probes.filter((other) => other !== ticket);
      if (outcome === 'failure') open(rule, atMs);
      if (outcome === 'success' && ++good >= rule.successes) move('closed');
    },
    renew(ticket, rule, atMs) {
      if (atMs < ticket.lease.untilMs) ticket.lease.untilMs = atMs + rule.leaseMs;
    },
    open,
    reset: () => move('closed'),
    get phase() {
      return phase;
    },
  };
}
