/** Matches names against patterns: `*` matches any characters, nothing else is special. */

/** Whether a name matches a pattern; one pass over the name, no backtracking. */
export function isMatch(pattern: string, name: string): boolean {
  const star = pattern.indexOf('*');
  if (star < 0) return pattern === name;
  if (star > 0 && !name.startsWith(pattern.slice(0, star))) return false; // Most patterns end here.
  const parts = pattern.split('*');
  const first = parts.shift() ?? '';
  const last = parts.pop() ?? '';
  if (name.length < first.length + last.length || !name.endsWith(last)) return false;
  const end = name.length - last.length;
  let from = first.length;
  for (const part of parts) {
    const index = name.indexOf(part, from);
    if (index < 0 || index + part.length > end) return false;
    from = index + part.length;
  }
  return true;
}
