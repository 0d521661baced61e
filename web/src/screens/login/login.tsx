import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import type { LogInChoices } from '../../../../client/index.ts';
import { lazy } from '../../app/lazy.tsx';
import { BASE } from '../../app/routes.ts';
import { client, USER_HEADER } from '../../data/api.ts';
import { logIn } from '../../data/session.ts';
import { Logo } from '../../ui/logo.tsx';
import { detailOf } from '../../ui/problem.tsx';
import { fieldText } from '../../ui/field-text.ts';
import { useTitle } from '../../ui/title.ts';
import { stepIn } from './second-factor-step.ts';
import type { Step } from './second-step.tsx';
import css from './login.module.css';
import { words } from './words.ts';

export function LogIn() {
  useTitle(words.document);
  return (
    <main class={css['page']}>
      <div class={css['card']}>
        <Logo size={40} />
        <h1>{words.title}</h1>
        <LogInForm />
        <Issuers />
      </div>
    </main>
  );
}

/**
 * A new password, and ways to log in elsewhere, back to this page. `newTab`, for the latter alone, keeps what
 * is typed on it.
 */
export function Issuers({ newTab = false }: { newTab?: boolean }) {
  const choices = useSignal<Partial<LogInChoices>>({});
  useEffect(() => {
    // Read as nobody, because nobody is logged in. Without them the password still works.
    void client.call('listLogInChoices', { headers: { [USER_HEADER]: '' } }).then(
      (found) => (choices.value = found),
      () => undefined,
    );
  }, []);
  const { issuers = [], password_links: hasLinks } = choices.value;
  const back = `${location.pathname}${location.search}`;
  // Over a page it has to be shown anew who one is: issuers seldom say when they asked last.
  const query = new URLSearchParams({ return_to: back, ...(newTab ? { fresh: 'true' } : {}) }).toString();
  return (
    <>
      {hasLinks === false && !newTab && <p class="muted">{words.askAdmin}</p>}
      {hasLinks === true && !newTab && (
        <a class={css['issuer']} href={`${BASE}/password`}>
          {words.forgotten}
        </a>
      )}
      {issuers.map(({ name, title }) => (
        <a
          key={name}
          class={css['issuer']}
          href={`/auth/sso/${name}?${query}`}
          target={newTab ? '_blank' : undefined}
        >
          {words.logInWith(title)}
        </a>
      ))}
    </>
  );
}

const SecondStep = lazy(async () => (await import('./second-step.tsx')).SecondStep);

/** @param username asks for the password only */
export function LogInForm({ username }: { username?: string }) {
  const problem = useSignal<string | null>(null);
  const busy = useSignal(false);
  const step = useSignal<Step | null>(null);
  const submit = async (event: Event & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const form = event.currentTarget;
    busy.value = true;
    problem.value = null;
    try {
      await logIn({
        username: username ?? fieldText(form, 'username'),
        password: fieldText(form, 'password'),
      });
    } catch (error) {
      step.value = stepIn(error);
      if (step.value !== null) return;
      problem.value = detailOf(error);
      form.querySelector<HTMLInputElement>('input[name=password]')?.select();
    } finally {
      busy.value = false;
    }
  };
  if (step.value !== null) return <SecondStep step={step.value} onBack={() => (step.value = null)} />;
  return (
    <form class={css['form']} onSubmit={(event) => void submit(event)}>
      {username === undefined && (
        <label>
          {words.username}
          <input name="username" autocomplete="username" autocapitalize="none" required autofocus />
        </label>
      )}
      <label>
        {words.password}
        <input
          name="password"
          type="password"
          autocomplete="current-password"
          required
          autofocus={username !== undefined}
        />
      </label>
      <p class={css['problem']} role="alert">
        {problem}
      </p>
      <button type="submit" class="primary" disabled={busy}>
        {words.logIn}
      </button>
      <PasskeyButton onProblem={(text) => (problem.value = text)} />
    </form>
  );
}

/** Logs in without a password. */
function PasskeyButton({ onProblem }: { onProblem: (text: string) => void }) {
  const byPasskey = async () => {
    try {
      const { challenge, options } = await client.call('beginPasskeyLogIn');
      const { signWithPasskey } = await import('../../data/passkeys.ts');
      // The browser's own form.
      const passkey = (await signWithPasskey(options)) as never;
      await logIn({ grant_type: 'second_factor', challenge, passkey });
    } catch (error) {
      onProblem(error instanceof DOMException ? words.noPasskey : detailOf(error));
    }
  };
  return (
    <button type="button" onClick={() => void byPasskey()}>
      {words.byPasskey}
    </button>
  );
}
