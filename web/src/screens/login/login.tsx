import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import type { LogInChoice } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { logIn } from '../../data/session.ts';
import { Logo } from '../../ui/logo.tsx';
import { detailOf } from '../../ui/problem.tsx';
import { fieldText } from '../../ui/field-text.ts';
import { useTitle } from '../../ui/title.ts';
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

/** Ways to log in elsewhere, back to this page. `newTab` keeps what is typed on it. */
export function Issuers({ newTab = false }: { newTab?: boolean }) {
  const choices = useSignal<readonly LogInChoice[]>([]);
  useEffect(() => {
    // Without them the password still works.
    void client.call('listLogInChoices').then(
      ({ issuers }) => (choices.value = issuers),
      () => undefined,
    );
  }, []);
  const back = `${location.pathname}${location.search}`;
  return (
    <>
      {choices.value.map(({ name, title }) => (
        <a
          key={name}
          class={css['issuer']}
          href={`/auth/sso/${name}?${new URLSearchParams({ return_to: back }).toString()}`}
          target={newTab ? '_blank' : undefined}
        >
          {words.logInWith(title)}
        </a>
      ))}
    </>
  );
}

/** @param username asks for the password only */
export function LogInForm({ username }: { username?: string }) {
  const problem = useSignal<string | null>(null);
  const busy = useSignal(false);
  const submit = async (event: Event & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const form = event.currentTarget;
    busy.value = true;
    problem.value = null;
    try {
      await logIn(username ?? fieldText(form, 'username'), fieldText(form, 'password'));
    } catch (error) {
      problem.value = detailOf(error);
      form.querySelector<HTMLInputElement>('input[name=password]')?.select();
    } finally {
      busy.value = false;
    }
  };
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
    </form>
  );
}
