/** Reference tokens of JSON pointers (RFC 6901). */

/** The names that a pointer leads through; none for the whole document. */
export function pointerTokens(pointer: string): string[] {
  return pointer.split('/').slice(1).map(unescapeToken);
}

export function unescapeToken(token: string): string {
  return token.replaceAll('~1', '/').replaceAll('~0', '~');
}

export function escapeToken(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

/** The pointer that leads through these names. */
export function jsonPointer(names: readonly string[]): string {
  return names.map((name) => `/${escapeToken(name)}`).join('');
}

/** Of a pointer in a URI's fragment, which is percent-encoded too (section 6). */
export function fragmentToken(token: string): string {
  try {
    return unescapeToken(decodeURIComponent(token));
  } catch {
    return token;
  }
}
