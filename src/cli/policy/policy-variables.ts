/** The environment variables that give settings, a policy file or trust, and not a store or a task. */

const ownVariables = /^SWITCHGEAR_(STORE|TASK|SESSION|RUN_\w+)$/;

export function isPolicyVariable(name: string): boolean {
  return /^(SWITCHGEAR|BB_CIRCUIT_BREAKER)_/.test(name) && !ownVariables.test(name);
}
