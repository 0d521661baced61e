/** How keys are shown to people. */

export interface Shortcut {
  key: string;
  text: string;
}

const NAMES: Readonly<Record<string, string>> = {
  ArrowLeft: '←',
  ArrowRight: '→',
  ArrowUp: '↑',
  ArrowDown: '↓',
  Escape: 'Esc',
};

export const isMac = /^(Mac|iP)/.test(navigator.platform);

/** `Ctrl K` for `mod+k`, `⌘ K` on a Mac. */
export function keyName(key: string, isMac: boolean): string {
  const isMod = key.startsWith('mod+');
  const plain = isMod ? key.slice('mod+'.length) : key;
  const name = NAMES[plain] ?? plain;
  if (!isMod) return name;
  return `${isMac ? '⌘' : 'Ctrl'} ${name.length === 1 ? name.toUpperCase() : name}`;
}

/** Keys that do the same, in one line. */
export function keyLines(shortcuts: readonly Shortcut[]): { keys: string[]; text: string }[] {
  const lines = new Map<string, string[]>();
  for (const { key, text } of shortcuts) lines.set(text, [...(lines.get(text) ?? []), key]);
  return [...lines].map(([text, keys]) => ({ text, keys }));
}
