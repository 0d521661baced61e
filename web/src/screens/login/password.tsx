/**
 * The page that mails about passwords lead to. The token is behind the `#` of the address, so no server and
 * no log has it. Opening the page uses nothing up: mail programs open links, too.
 */
import { untracked, useSignal, useSignalEffect } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import { ApiError, type PasswordLink } from '../../../../client/index.ts';
import { navigate } from '../../app/router.ts';
import { BASE } from '../../app/routes.ts';
import { client, USER_HEADER } from '../../data/api.ts';
import { leave, logIn, user } from '../../data/session.ts';
import { fieldText } from '../../ui/field-text.ts';
import { Logo } from '../../ui/logo.tsx';
import { detailOf } from '../../ui/problem.tsx';
import { exactTime } from '../../ui/time.ts';
import { useTitle } from '../../ui/title.ts';
import css from './login.module.css';
import { words } from './password-words.ts';
import { stepIn } from './second-factor-step.ts';
import { SecondStep, type Step } from './second-step.tsx';

/** Whoever may be logged in here: the link is about its own account. */
const nobody = { [USER_HEADER]: '' };

export function PasswordPage() {
  useTitle(words.document);
  const token = useSignal(tokenInAddress());
  useEffect(() => {
    // A link that is opened over this page changes the address only.
    const read = () => (token.value = tokenInAddress());
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  return (
    <main class={css['page']}>
      <div class={css['card']}>
        <Logo size={40} />
        {token.value === '' ? <Ask /> : <Link key={token.value} token={token.value} />}
        <a href={`${BASE}/`}>{words.toLogIn}</a>
      </div>
    </main>
  );
}

function tokenInAddress(): string {
  return location.hash.slice(1);
}

function Ask() {
  const problem = useSignal<string | null>(null);
  const isAsked = useSignal(false);
  const submit = async (event: Event & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    problem.value = null;
    try {
      const body = { name: fieldText(event.currentTarget, 'name').trim() };
      await client.call('requestPasswordLink', { body, headers: nobody });
      isAsked.value = true;
    } catch (error) {
      problem.value = detailOf(error);
    }
  };
  if (isAsked.value)
    return (
      <div role="status">
        <h1>{words.askedTitle}</h1>
        <p>{words.askedText}</p>
      </div>
    );
  return (
    <>
      <h1>{words.askTitle}</h1>
      <p>{words.askText}</p>
      <form class={css['form']} onSubmit={(event) => void submit(event)}>
        <label>
          {words.name}
          <input
            name="name"
            autocomplete="username"
            autocapitalize="none"
            maxLength={320}
            required
            autofocus
          />
        </label>
        <p class={css['problem']} role="alert">
          {problem}
        </p>
        <button type="submit" class="primary">
          {words.ask}
        </button>
      </form>
    </>
  );
}

function Link({ token }: { token: string }) {
  const link = useSignal<PasswordLink | null>(null);
  const problem = useSignal<string | null>(null);
  useEffect(() => {
    client.call('readPasswordLink', { body: { token }, headers: nobody }).then(
      (found) => (link.value = found),
      (error: unknown) => (problem.value = problemOf(error)),
    );
  }, [token]);
  return (
    <>
      <h1>{words.chooseTitle}</h1>
      {link.value !== null && <Choose token={token} link={link.value} />}
      <p class={css['problem']} role="alert">
        {problem}
      </p>
    </>
  );
}

function problemOf(error: unknown): string {
  if (!(error instanceof ApiError)) return detailOf(error);
  const [wrong] = error.errors;
  if (wrong?.pointer === '/password') return words.wrong(wrong.message);
  return error.status === 404 || error.status === 422 ? words.notOurs : error.detail;
}

/** Sets the password, once, and logs in with it, as often as it takes. */
function useChoice(token: string, username: string) {
  const problem = useSignal<string | null>(null);
  const isChosen = useSignal(false);
  const busy = useSignal(false);
  const step = useSignal<Step | null>(null);
  // After the second step, too.
  useSignalEffect(() => {
    if (isChosen.value && user.value) untracked(() => navigate(`${BASE}/`, 'replace'));
  });
  const submit = async (event: Event & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const form = event.currentTarget;
    const password = fieldText(form, 'password');
    problem.value = password === fieldText(form, 'repeated') ? null : words.differ;
    if (problem.value !== null) return;
    busy.value = true;
    try {
      if (!isChosen.value) {
        await client.call('choosePassword', { body: { token, password }, headers: nobody });
        // Whoever was logged in here has left.
        leave();
        isChosen.value = true;
      }
      await logIn({ username, password });
    } catch (error) {
      step.value = stepIn(error);
      if (step.value === null) problem.value = problemOf(error);
    } finally {
      busy.value = false;
    }
  };
  return { problem, busy, step, submit };
}

function Choose({
  token,
  link: { username, purpose, expires_at: until },
}: {
  token: string;
  link: PasswordLink;
}) {
  const { problem, busy, step, submit } = useChoice(token, username);
  if (step.value !== null)
    return (
      <>
        <p role="status">{words.chosen}</p>
        <SecondStep step={step.value} onBack={() => (step.value = null)} />
      </>
    );
  return (
    <form class={css['form']} onSubmit={(event) => void submit(event)}>
      <p>{purpose === 'invitation' ? words.invited(username) : words.forgot(username)}</p>
      <p class="muted">{words.until(exactTime(until))}</p>
      <input name="username" autocomplete="username" value={username} readOnly hidden />
      <label>
        {words.password}
        <input name="password" type="password" autocomplete="new-password" required autofocus />
      </label>
      <label>
        {words.repeated}
        <input name="repeated" type="password" autocomplete="new-password" required />
      </label>
      <p class={css['problem']} role="alert">
        {problem}
      </p>
      <button type="submit" class="primary" disabled={busy}>
        {words.choose}
      </button>
    </form>
  );
}
