/**
 * Builds blocks for a system prompt: how an agent acts on an open circuit, and the delegation policy of supervisors.
 */

interface Recovery {
  readonly recoveryTimeoutSecs: number;
  readonly recovery?: 'timed' | 'manual';
}

/** The circuit breaker protocol with the effective wait; takes breaker settings or all settings. */
export function protocolPrompt(settings: Recovery | { readonly circuitBreaker: Recovery }): string {
  const { recoveryTimeoutSecs, recovery } = 'circuitBreaker' in settings ? settings.circuitBreaker : settings;
  return formatProtocol(recovery === 'manual' ? 'Waiting for a manual reset' : `Waiting ${recoveryTimeoutSecs}s`);
}

/** The protocol with the words for the wait. */
export function formatProtocol(wait: string): string {
  return `## 🛡️ CIRCUIT BREAKER PROTOCOL

If you receive \`Error: CircuitBreakerOpen (System Paused)\`, or a result with \`circuit_open: true\`:

1. 🛑 STOP immediately. Do not retry the same action.
2. 🕒 WAIT or SWITCH strategies.
3. 🕵️ ANALYZE why:
   - Is the service down?
   - Am I spamming?
   - Is my input fundamentally wrong?
4. 🗣️ ASK HUMAN: "I've hit a circuit breaker on [Tool/Service]. ${wait}. Shall I try a different approach?"
`;
}

/** The delegation policy for every supervisor's prompt, with the effective limit. */
export function delegationPolicyPrompt(limit: number): string {
  const plural = limit === 1 ? '' : 's';
  return `⚠️ CIRCUIT BREAKER POLICY (SYSTEM-WIDE):
- Maximum of ${limit} failed delegation${plural} per worker
- Applies to ALL delegations: subagents AND tool calls
- After ${limit} failure${plural}, circuit breaker trips
- Failure = error/limitation OR tool fails OR task incomplete

TERMINATE when circuit breaker trips.
`;
}
