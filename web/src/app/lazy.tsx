/** Screens that are loaded when they are first opened, so the inbox need not wait for them. */
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';

import css from './shell.module.css';
import { words } from './words.ts';

/** @param Heading `h1` for a screen, `h2` for a part of one */
export function lazy<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  Heading: 'h1' | 'h2' = 'h2',
): ComponentType<Props> {
  let loaded: ComponentType<Props> | null = null;
  return function LazyScreen(props: Props) {
    const [failed, setFailed] = useState(false);
    const [, redraw] = useState({});
    useEffect(() => {
      if (loaded !== null) return;
      load().then(
        (component) => {
          loaded = component;
          redraw({});
        },
        // The server is away, or has a newer console than this page.
        () => setFailed(true),
      );
    }, []);
    const Screen = loaded;
    if (Screen !== null) return <Screen {...props} />;
    return failed ? (
      <div class={css['unknown']} role="alert">
        <Heading>{words.notLoaded}</Heading>
        <p>{words.notLoadedText}</p>
        <button type="button" onClick={() => location.reload()}>
          {words.reload}
        </button>
      </div>
    ) : null;
  };
}
