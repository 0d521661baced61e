/**
 * Keyboard shortcuts. They are off while somebody types and while a dialog is open. Handlers read signals at
 * the time of the key, so keys that are typed fast see the state that the last one left.
 */
import { useLayoutEffect, useRef } from 'preact/hooks';

/**
 * Handlers by key. `g i` is one key after the other. `mod+Enter` is Ctrl or Command with Enter, and works
 * while typing too.
 */
export type Keys = Readonly<Record<string, () => void>>;

const SEQUENCE_MS = 1_500;
const layers: { current: Keys }[] = [];
let begun: { key: string; at: number } | null = null;

export function useKeys(keys: Keys): void {
  const layer = useRef(keys);
  layer.current = keys;
  // A key that follows the drawing at once finds its handler.
  useLayoutEffect(() => {
    layers.push(layer);
    return () => void layers.splice(layers.indexOf(layer), 1);
  }, []);
}

document.addEventListener('keydown', (event) => {
  if (event.defaultPrevented || event.altKey || document.querySelector('dialog[open]') !== null) return;
  const mod = event.metaKey || event.ctrlKey;
  if (!mod && isTyping(event.composedPath()[0])) return;
  const prefix = begun !== null && Date.now() - begun.at < SEQUENCE_MS ? `${begun.key} ` : '';
  begun = null;
  const key = `${prefix}${mod ? 'mod+' : ''}${event.key}`;
  const act = layers.findLast(({ current }) => current[key] !== undefined)?.current[key];
  if (act !== undefined) {
    event.preventDefault();
    act();
  } else if (layers.some(({ current }) => Object.keys(current).some((name) => name.startsWith(`${key} `)))) {
    begun = { key, at: Date.now() };
  }
});

const typed =
  'input:not([type=checkbox], [type=radio], [type=button], [type=range]), textarea, select,' +
  ' [contenteditable=true]';

/** @param target the innermost one: an editor has its text in a shadow root */
function isTyping(target: EventTarget | undefined): boolean {
  return target instanceof Element && target.closest(typed) !== null;
}
