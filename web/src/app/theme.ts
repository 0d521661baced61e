/**
 * Light or dark: as the system has it, or as chosen. The choice is kept in this browser, so it holds before
 * the log-in and without the server, and in the user's preferences, so it follows to other browsers.
 */
import { effect, signal } from '@preact/signals';

import { THEMES, type Theme } from '../data/choices.ts';
import { onReconnect } from '../data/live.ts';
import { changeChoices, choices } from '../data/preferences.ts';
import { user } from '../data/session.ts';

const KEY = 'cadenza-theme';
/** Has the id of the user whose choice the server does not know yet. */
const UNSENT = 'cadenza-theme-unsent';

export const theme = signal<Theme>(THEMES.find((one) => one === localStorage.getItem(KEY)) ?? 'system');

effect(() => {
  // The system's choice is that of the style sheet.
  document.documentElement.style.colorScheme = theme.value === 'system' ? '' : theme.value;
});

effect(() => {
  const { theme: stored } = choices.value;
  if (stored !== null && !isUnsent()) keep(stored);
});

// Chosen while the server was away.
const sendUnsent = () => {
  if (isUnsent()) void send();
};
effect(() => {
  if (user.value) sendUnsent();
});
onReconnect(sendUnsent);

export function chooseTheme(chosen: Theme): void {
  keep(chosen);
  if (user.value) localStorage.setItem(UNSENT, user.value.id);
  sendUnsent();
}

export function switchTheme(): void {
  const isDark =
    theme.value === 'dark' ||
    (theme.value === 'system' && matchMedia('(prefers-color-scheme: dark)').matches);
  chooseTheme(isDark ? 'light' : 'dark');
}

async function send(): Promise<void> {
  const sent = theme.peek();
  try {
    await changeChoices((others) => ({ ...others, theme: sent }));
    if (theme.value === sent) localStorage.removeItem(UNSENT);
  } catch {
    // It is sent again when the connection is back.
  }
}

function keep(chosen: Theme): void {
  theme.value = chosen;
  if (chosen === 'system') localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, chosen);
}

function isUnsent(): boolean {
  const id = localStorage.getItem(UNSENT);
  return id !== null && id === user.value?.id;
}
