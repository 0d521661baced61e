/**
 * Keyboard shortcuts. They are off while somebody types and while a dialog is open. Handlers read signals at
 * the time of the key, so keys that are typed fast see the state that the last one left.
 */
import { useLayoutEffect, useRef } from 'preact/hooks';

import type { Shortcut } from './key-names.ts';

/**
 * Handlers by key. `g i` is one key after the other. `mod+Enter` is Ctrl or Command with Enter, and works
 * while typing too.
 */
export type Keys = Readonly<Record<string, () => void>>;
/** What keys do, in words. Keys without words, such as second names of a key, are in no list. */
export type KeyTexts = Readonly<Record<string, string>>;
/** A screen's keys come before those that work everywhere. */
type Reach = 'screen' | 'everywhere';

interface Layer {
  keys: Keys;
  texts: KeyTexts;
  reach: Reach;
}

const SEQUENCE_MS = 1_500;
const layers: { current: Layer }[] = [];
let begun: { key: string; at: number } | null = null;

export function useKeys(keys: Keys, texts: KeyTexts = {}, reach: Reach = 'screen'): void {
  const layer = useRef<Layer>({ keys, texts, reach });
  layer.current = { keys, texts, reach };
  // A key that follows the drawing at once finds its handler.
  useLayoutEffect(() => {
    layers.push(layer);
    return () => void layers.splice(layers.indexOf(layer), 1);
  }, []);
}

/** The keys that work now and have words. */
export function shortcutsOf(reach: Reach): Shortcut[] {
  const texts = new Map<string, string>();
  for (const { current } of layers)
    for (const [key, text] of Object.entries(current.texts))
      if (current.reach === reach && current.keys[key] !== undefined) texts.set(key, text);
  return [...texts].map(([key, text]) => ({ key, text }));
}

/** Does what the key does now. @returns whether it does anything */
export function press(key: string): boolean {
  const act = handlerIn('screen', key) ?? handlerIn('everywhere', key);
  act?.();
  return act !== undefined;
}

function handlerIn(reach: Reach, key: string): (() => void) | undefined {
  const layer = layers.findLast(({ current }) => current.reach === reach && current.keys[key] !== undefined);
  return layer?.current.keys[key];
}

document.addEventListener('keydown', (event) => {
  // On many keyboards [ and ] need AltGr.
  const isAlt = event.altKey && !event.getModifierState('AltGraph');
  if (event.defaultPrevented || isAlt || document.querySelector('dialog[open]') !== null) return;
  const mod = event.metaKey || (event.ctrlKey && !event.getModifierState('AltGraph'));
  if (!mod && isTyping(event.composedPath()[0])) return;
  const prefix = begun !== null && Date.now() - begun.at < SEQUENCE_MS ? `${begun.key} ` : '';
  begun = null;
  const key = `${prefix}${mod ? 'mod+' : ''}${event.key}`;
  if (press(key)) event.preventDefault();
  else if (
    layers.some(({ current }) => Object.keys(current.keys).some((name) => name.startsWith(`${key} `)))
  ) {
    begun = { key, at: Date.now() };
  }
});

const typed =
  'input:not([type=checkbox], [type=radio], [type=button], [type=range]), textarea, select,' +
  ' [contenteditable=true]';

/** @param target the innermost one: an editor has its text in a shadow root */
function isTyping(target: EventTarget | undefined): boolean {
  if (!(target instanceof Element) || target.closest(typed) === null) return false;
  // The focus leaves a dialog a moment after it is closed.
  return target.closest('dialog:not([open])') === null;
}
