import { useEffect } from 'preact/hooks';

import { readSession, user, whenUserLeaves } from '../data/session.ts';
import { LogIn } from '../screens/login/login.tsx';
import { LogInAgain } from '../screens/login/log-in-again.tsx';
import { ProblemText } from '../ui/problem.tsx';
import { clearNotes, tell, Toasts } from '../ui/toasts.tsx';
import { Shell } from './shell.tsx';
import { start, startProblem } from './start.ts';
import { words } from './words.ts';

whenUserLeaves(() => {
  clearNotes();
  const next = user.value;
  if (next) tell(words.loggedInAs(next.display_name ?? next.username));
});

export function App() {
  useEffect(() => void start(readSession), []);
  // Nothing is shown until the server has said who this is.
  if (user.value === undefined)
    return startProblem.value === null ? null : <ProblemText error={startProblem.value} />;
  return (
    <>
      {/* What somebody has begun is not there for the next user. */}
      {user.value === null ? <LogIn /> : <Shell key={user.value.id} user={user.value} />}
      <LogInAgain />
      <Toasts />
    </>
  );
}
