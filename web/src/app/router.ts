/** Follows the address bar (History API). */
import { computed, signal } from '@preact/signals';

import { addressOf, BASE, routeOf, type Query } from './routes.ts';

const address = signal(location.pathname + location.search);

/** With `/console`, without parameters. */
export const path = computed(() => address.value.split('?')[0] ?? '');
export const route = computed(() => routeOf(path.value));
export const query = computed<Query>(() =>
  Object.fromEntries(new URLSearchParams(address.value.split('?')[1] ?? '')),
);

export function navigate(to: string, how: 'push' | 'replace' = 'push'): void {
  if (to === address.value) return;
  if (how === 'push') history.pushState(null, '', to);
  else history.replaceState(null, '', to);
  address.value = to;
}

/** Changes parameters of the address and keeps the others. */
export function setQuery(
  changes: Readonly<Record<string, string | undefined>>,
  how: 'push' | 'replace' = 'push',
): void {
  navigate(addressOf(path.value, { ...query.value, ...changes }), how);
}

addEventListener('popstate', () => {
  address.value = location.pathname + location.search;
});

// Links within the console change the address without loading the page.
document.addEventListener('click', (event) => {
  if (event.defaultPrevented || event.button !== 0) return;
  if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const link = event.target instanceof Element ? event.target.closest('a') : null;
  if (link === null || link.target !== '' || link.origin !== location.origin) return;
  if (!link.pathname.startsWith(`${BASE}/`)) return;
  event.preventDefault();
  navigate(link.pathname + link.search);
});
