import { chooseTheme, theme } from '../../app/theme.ts';
import { client } from '../../data/api.ts';
import type { Choices } from '../../data/choices.ts';
import { changeChoices, choices } from '../../data/preferences.ts';
import { readSession, user } from '../../data/session.ts';
import page from '../../ui/page.module.css';
import { RecordForm } from '../../ui/record-form.tsx';
import { detailOf } from '../../ui/problem.tsx';
import { complain, tell } from '../../ui/toasts.tsx';
import { Identities } from './identities.tsx';
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

/** Who one is, how the console looks, and the password. */
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
      <Choice
        name="theme"
        title={words.theme}
        labels={words.themes}
        chosen={theme.value}
        onChoose={chooseTheme}
      />
      <Choice
        name="density"
        title={words.density}
        labels={words.densities}
        chosen={choices.value.density}
        onChoose={(density) => choose({ density })}
      />
      <Choice
        name="decides"
        title={words.decides}
        labels={words.decidesBy}
        chosen={choices.value.decides}
        onChoose={(decides) => choose({ decides })}
      />
      {user.value?.has_password && <Password username={username} />}
      <Identities />
      <p>
        <a href="/users/me/personal-data" download>
          {words.personalData}
        </a>
      </p>
    </>
  );
}

function Password({ username }: { username: string }) {
  return (
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
          await readSession();
          tell(words.passwordChanged);
        }}
      >
        <input type="text" autocomplete="username" value={username} readOnly hidden />
      </RecordForm>
    </section>
  );
}

function choose(choice: Partial<Choices>): void {
  changeChoices((others) => ({ ...others, ...choice })).catch((error: unknown) => complain(detailOf(error)));
}

interface ChoiceProps<Name extends string> {
  name: string;
  title: string;
  labels: Readonly<Record<Name, string>>;
  chosen: Name;
  onChoose: (name: Name) => void;
}

function Choice<Name extends string>({ name, title, labels, chosen, onChoose }: ChoiceProps<Name>) {
  // Safe: they are the labels' own names.
  const names = Object.keys(labels) as Name[];
  return (
    <fieldset>
      <legend>{title}</legend>
      {names.map((one) => (
        <label key={one} class={css['choice']}>
          <input type="radio" name={name} checked={chosen === one} onChange={() => onChoose(one)} />
          {labels[one]}
        </label>
      ))}
    </fieldset>
  );
}
