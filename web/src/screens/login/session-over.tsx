/** Asks for the password over the page when the session has ended, so that nothing typed is lost. */
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

import { sessionOver } from '../../data/api.ts';
import { leave, readSession, user } from '../../data/session.ts';
import { Issuers, LogInForm } from './login.tsx';
import { words } from './words.ts';

export function SessionOver() {
  const dialog = useRef<HTMLDialogElement>(null);
  const over = sessionOver.value && user.value;
  useLayoutEffect(() => {
    if (over) dialog.current?.showModal();
    else dialog.current?.close();
  }, [over]);
  useEffect(() => {
    if (!over) return undefined;
    // Another tab may have logged in at an issuer meanwhile.
    const readAgain = () => void readSession().catch(() => undefined);
    addEventListener('focus', readAgain);
    return () => removeEventListener('focus', readAgain);
  }, [over]);
  return (
    <dialog ref={dialog} aria-labelledby="session-over" onCancel={(event) => event.preventDefault()}>
      {over && (
        <>
          <h2 id="session-over">{words.over}</h2>
          <p>{words.overText(over.username)}</p>
          {over.has_password && <LogInForm username={over.username} />}
          <Issuers newTab />
          <button type="button" class="plain" onClick={leave}>
            {words.asAnother}
          </button>
        </>
      )}
    </dialog>
  );
}
