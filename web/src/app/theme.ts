/** Light or dark: as the system has it, or as chosen here. */
const KEY = 'cadenza-theme';
const root = document.documentElement;

export type Theme = 'system' | 'light' | 'dark';

root.style.colorScheme = colorScheme(chosenTheme());

export function chosenTheme(): Theme {
  const chosen = localStorage.getItem(KEY);
  return chosen === 'light' || chosen === 'dark' ? chosen : 'system';
}

export function chooseTheme(theme: Theme): void {
  root.style.colorScheme = colorScheme(theme);
  if (theme === 'system') localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme);
}

export function switchTheme(): void {
  const chosen = chosenTheme();
  const isDark =
    chosen === 'dark' || (chosen === 'system' && matchMedia('(prefers-color-scheme: dark)').matches);
  chooseTheme(isDark ? 'light' : 'dark');
}

/** The system's choice is that of the style sheet. */
function colorScheme(theme: Theme): string {
  return theme === 'system' ? '' : theme;
}
