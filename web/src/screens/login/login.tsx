import { useSignal } from '@preact/signals';

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
      </div>
    </main>
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
