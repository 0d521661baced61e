/** Scopes as people type them: several in one line, with spaces or commas between them. */
export function scopesIn(text: unknown): string[] {
  return typeof text === 'string' ? text.split(/[\s,]+/).filter((scope) => scope !== '') : [];
}
