/** Guesses why workers fail from the texts of their failures. */

/** The probable cause if all failures concern connections, e.g. "Database may be down."; undefined otherwise. */
export function findCauseHint(reasons: readonly string[]): string | undefined {
  if (reasons.length === 0 || !reasons.every((reason) => unreachable.test(reason))) return undefined;
  const suspect = suspects.find(([pattern]) => reasons.some((reason) => pattern.test(reason)));
  return `${suspect?.[1] ?? 'Service'} may be down.`;
}

const unreachable =
  /time(?:d[ _-]?)?[ _-]?out|\bconnect(?:ion)?\b|ECONN|EPIPE|ENOTFOUND|EAI_AGAIN|unreachable|socket hang up/i;
const suspects: readonly (readonly [RegExp, string])[] = [
  [/database|neo4j|postgres|mysql|mariadb|sqlite|mongo|redis|\b(?:sql|db)\b/i, 'Database'],
  [/\bmcp\b/i, 'MCP server'],
  [/network|\bdns\b|ENOTFOUND|EAI_AGAIN|unreachable/i, 'Network'],
];
