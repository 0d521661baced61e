import { useLayoutEffect } from 'preact/hooks';

/** Names the document after the screen, as soon as it is drawn, for tabs, history and screen readers. */
export function useTitle(title: string): void {
  useLayoutEffect(() => {
    document.title = `${title} · Cadenza`;
  }, [title]);
}
