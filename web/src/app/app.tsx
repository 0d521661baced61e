import { useEffect } from 'preact/hooks';

import { readSession, user, whenUserLeaves } from '../data/session.ts';
import { LogIn } from '../screens/login/login.tsx';
import { LogInAgain } from '../screens/login/log-in-again.tsx';
import { ProblemText } from '../ui/problem.tsx';
import { clearNotes, tell, Toasts } from '../ui/toasts.tsx';
import { lazy } from './lazy.tsx';
import { route } from './router.ts';
import { Shell } from './shell.tsx';
import { start, startProblem } from './start.ts';
import { words } from './words.ts';

whenUserLeaves(() => {
  clearNotes();
  const next = user.value;
  if (next) tell(words.loggedInAs(next.display_name ?? next.username));
});

const PasswordPage = lazy(async () => (await import('../screens/login/password.tsx')).PasswordPage, 'h1');

export function App() {
  useEffect(() => void start(readSession), []);
  // Nothing is shown until the server has said who this is.
  if (user.value === undefined)
    return startProblem.value === null ? null : <ProblemText error={startProblem.value} />;
  return (
    <>
      {/* What somebody has begun is not there for the next user. */}
      <Page />
      <LogInAgain />
      <Toasts />
    </>
  );
}

function Page() {
  const who = user.value;
  if (route.value.screen === 'password') return <PasswordPage />;
  return who ? <Shell key={who.id} user={who} /> : <LogIn />;
}
