import { useEffect } from 'preact/hooks';

import { readSession, user } from '../data/session.ts';
import { LogIn } from '../screens/login/login.tsx';
import { SessionOver } from '../screens/login/session-over.tsx';
import { ProblemText } from '../ui/problem.tsx';
import { Toasts } from '../ui/toasts.tsx';
import { Shell } from './shell.tsx';
import { start, startProblem } from './start.ts';

export function App() {
  useEffect(() => void start(readSession), []);
  // Nothing is shown until the server has said who this is.
  if (user.value === undefined)
    return startProblem.value === null ? null : <ProblemText error={startProblem.value} />;
  return (
    <>
      {user.value === null ? <LogIn /> : <Shell user={user.value} />}
      <SessionOver />
      <Toasts />
    </>
  );
}
