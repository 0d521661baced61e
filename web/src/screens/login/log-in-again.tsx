/**
 * Asks for the password over the page, so that nothing typed is lost: when the session has ended, or for what
 * needs a fresh log-in. The latter can be cancelled, because the session goes on.
 */
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';

import { logInAgain } from '../../data/api.ts';
import { leave, readSession, user } from '../../data/session.ts';
import { Issuers, LogInForm } from './login.tsx';
import { words } from './words.ts';

export function LogInAgain() {
  const dialog = useRef<HTMLDialogElement>(null);
  const who = user.value;
  const why = who ? logInAgain.value : null;
  useLayoutEffect(() => {
    if (why) dialog.current?.showModal();
    else dialog.current?.close();
  }, [why !== null]);
  useEffect(() => {
    // A session that is too old is still there: that it can be read does not show a fresh log-in.
    if (why !== 'over') return undefined;
    // Another tab may have logged in at an issuer meanwhile.
    const readAgain = () => void readSession().catch(() => undefined);
    addEventListener('focus', readAgain);
    return () => removeEventListener('focus', readAgain);
  }, [why]);
  const cancel = () => (logInAgain.value = null);
  const onCancel = (event: Event) => {
    event.preventDefault();
    if (why === 'too_old') cancel();
  };
  return (
    <dialog ref={dialog} aria-labelledby="log-in-again" onCancel={onCancel}>
      {who && why && (
        <>
          <h2 id="log-in-again">{why === 'over' ? words.over : words.tooOld}</h2>
          <p>{(why === 'over' ? words.overText : words.tooOldText)(who.username)}</p>
          {who.has_password && <LogInForm username={who.username} />}
          <Issuers newTab />
          <button type="button" class="plain" onClick={why === 'over' ? leave : cancel}>
            {why === 'over' ? words.asAnother : words.cancel}
          </button>
        </>
      )}
    </dialog>
  );
}
