/**
 * Texts that PostgreSQL takes: no NUL characters, no halves of surrogate pairs. For what agents and expressions give, which
 * must never block a run; people's input is refused instead.
 */
export function storable<T>(value: T): T {
  // The shape stays; only strings change, for strings.
  return walk(value) as T;
}

function walk(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed().replaceAll('\0', String.raw`\u0000`);
  if (Array.isArray(value)) return value.map(walk);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [walk(key), walk(entry)]));
}
