/** Texts that somebody has written but not saved. They survive a reload, and are forgotten at log-out. */

const PREFIX = 'cadenza-text-';

export function keepText(userId: string, name: string, content: unknown): void {
  try {
    sessionStorage.setItem(`${PREFIX}${userId}-${name}`, JSON.stringify(content));
  } catch {
    // The storage is full: the text is still on the screen.
  }
}

/** As `keepText` has written it. */
export function keptText(userId: string, name: string): unknown {
  const text = sessionStorage.getItem(`${PREFIX}${userId}-${name}`);
  return text === null ? null : JSON.parse(text);
}

export function forgetText(userId: string, name: string): void {
  sessionStorage.removeItem(`${PREFIX}${userId}-${name}`);
}

/** Forgets the texts of everybody who has used this tab. */
export function forgetTexts(): void {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(PREFIX)) sessionStorage.removeItem(key);
}
