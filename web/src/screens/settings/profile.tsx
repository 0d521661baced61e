import { useSignal } from '@preact/signals';

import { chooseTheme, chosenTheme, type Theme } from '../../app/theme.ts';
import { client } from '../../data/api.ts';
import { readSession, user } from '../../data/session.ts';
import page from '../../ui/page.module.css';
import { RecordForm } from '../../ui/record-form.tsx';
import { tell } from '../../ui/toasts.tsx';
import css from './settings.module.css';
import { words } from './words.ts';

const text = (title: string) => ({ type: 'string', format: 'password', title });
const schema = {
  type: 'object',
  required: ['current_password', 'new_password'],
  properties: {
    current_password: text(words.currentPassword),
    new_password: text(words.newPassword),
  },
};

/** Who one is, the colours of this browser, and the password. */
export function Profile() {
  const { username = '', email = '', roles = [], groups = [] } = user.value ?? {};
  const facts = [
    [words.username, username],
    [words.email, email],
    [words.roles, roles.join(', ')],
    [words.groups, groups.join(', ') || words.none],
  ] as const;
  return (
    <>
      <dl class={css['facts']}>
        {facts.map(([name, value]) => (
          <>
            <dt key={name}>{name}</dt>
            <dd>{value}</dd>
          </>
        ))}
      </dl>
      <ThemeChoice />
      <section class={`${page['part']} ${css['narrow']}`}>
        <h2>{words.password}</h2>
        <p class="muted">{words.passwordHelp}</p>
        <RecordForm
          id="password"
          sections={[{ id: 'password', member: '', schema }]}
          submit={words.change}
          onSubmit={async (body) => {
            await client.call('changeMyPassword', {
              body: {
                current_password: String(body['current_password']),
                new_password: String(body['new_password']),
              },
            });
            tell(words.passwordChanged);
            await readSession();
          }}
        >
          <input type="text" autocomplete="username" value={username} readOnly hidden />
        </RecordForm>
      </section>
    </>
  );
}

function ThemeChoice() {
  const chosen = useSignal<Theme>(chosenTheme());
  return (
    <fieldset>
      <legend>{words.theme}</legend>
      {Object.entries(words.themes).map(([theme, label]) => (
        <label key={theme} class={css['choice']}>
          <input
            type="radio"
            name="theme"
            checked={chosen.value === theme}
            onChange={() => {
              chosen.value = theme as Theme;
              chooseTheme(chosen.value);
            }}
          />
          {label}
        </label>
      ))}
    </fieldset>
  );
}
