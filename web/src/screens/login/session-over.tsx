/** Asks for the password over the page when the session has ended, so that nothing typed is lost. */
import { useLayoutEffect, useRef } from 'preact/hooks';

import { sessionOver } from '../../data/api.ts';
import { leave, user } from '../../data/session.ts';
import { LogInForm } from './login.tsx';
import { words } from './words.ts';

export function SessionOver() {
  const dialog = useRef<HTMLDialogElement>(null);
  const over = sessionOver.value && user.value;
  useLayoutEffect(() => {
    if (over) dialog.current?.showModal();
    else dialog.current?.close();
  }, [over]);
  return (
    <dialog ref={dialog} aria-labelledby="session-over" onCancel={(event) => event.preventDefault()}>
      {over && (
        <>
          <h2 id="session-over">{words.over}</h2>
          <p>{words.overText(over.username)}</p>
          <LogInForm username={over.username} />
          <button type="button" class="plain" onClick={leave}>
            {words.asAnother}
          </button>
        </>
      )}
    </dialog>
  );
}
