/** The second step of a log-in: a code, a recovery code or a passkey. */
import { useSignal } from '@preact/signals';

import { logIn } from '../../data/session.ts';
import { signWithPasskey } from '../../data/passkeys.ts';
import { detailOf } from '../../ui/problem.tsx';
import { fieldText } from '../../ui/field-text.ts';
import css from './login.module.css';
import { words } from './second-step-words.ts';

export interface Step {
  challenge: string;
  methods: readonly string[];
  passkey: Record<string, unknown> | null;
}

export function SecondStep({ step, onBack }: { step: Step; onBack: () => void }) {
  const { challenge, methods, passkey } = step;
  const problem = useSignal<string | null>(null);
  const attempt = async (proof: () => Promise<object> | object) => {
    problem.value = null;
    try {
      await logIn({ grant_type: 'second_factor', challenge, ...(await proof()) });
    } catch (error) {
      problem.value = error instanceof DOMException ? words.stopped : detailOf(error);
    }
  };
  const submit = (event: Event & { currentTarget: HTMLFormElement }) => {
    event.preventDefault();
    const code = fieldText(event.currentTarget, 'code').replaceAll(/\s/g, '');
    void attempt(() => (/^\d{6}$/.test(code) ? { code } : { recovery_code: code }));
  };
  return (
    <form class={css['form']} onSubmit={submit}>
      {methods.some((method) => method !== 'passkey') && (
        <>
          <label>
            {words.code}
            <input name="code" autocomplete="one-time-code" required autofocus />
          </label>
          <button type="submit" class="primary">
            {words.logIn}
          </button>
        </>
      )}
      {passkey !== null && (
        <button
          type="button"
          onClick={() => void attempt(async () => ({ passkey: await signWithPasskey(passkey) }))}
        >
          {words.byPasskey}
        </button>
      )}
      <p class={css['problem']} role="alert">
        {problem}
      </p>
      <button type="button" class="plain" onClick={onBack}>
        {words.back}
      </button>
    </form>
  );
}
