/**
 * Filters of event types. A name matches itself and all longer names that continue it after a dot
 * (`io.cadenza.hitl`); `*` matches any characters. An empty list matches every type.
 */
export const TYPE_PATTERN = /^[A-Za-z0-9*][A-Za-z0-9.*_-]{0,254}$/;

export function matchesType(patterns: readonly string[], type: string): boolean {
  return patterns.length === 0 || patterns.some((pattern) => matches(pattern, type));
}

/** Each part is searched for once, from left to right: a regular expression would backtrack for each `*`. */
function matches(pattern: string, type: string): boolean {
  const [first = '', ...parts] = pattern.split('*');
  const last = parts.pop();
  if (last === undefined) return type === pattern || type.startsWith(`${pattern}.`);
  if (!type.startsWith(first)) return false;
  let at = first.length;
  for (const part of parts) {
    const found = type.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return at + last.length <= type.length && type.endsWith(last);
}
