/** One's own identities at external issuers. */
import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';

import type { LogInChoice, UserIdentity } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { readSession, user } from '../../data/session.ts';
import page from '../../ui/page.module.css';
import { detailOf } from '../../ui/problem.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { complain } from '../../ui/toasts.tsx';
import { When } from '../../ui/when.tsx';
import { Removal } from './removal.tsx';
import { words } from './issuer-words.ts';

/** Nothing without issuers. */
export function Identities() {
  const own = useSignal<readonly UserIdentity[]>([]);
  const choices = useSignal<readonly LogInChoice[]>([]);
  const load = async () => {
    const [identities, { issuers }] = await Promise.all([
      client.call('listMyIdentities'),
      client.call('listLogInChoices'),
    ]);
    own.value = identities;
    choices.value = issuers;
  };
  const unlink = async (id: string) => {
    await client.call('unlinkMyIdentity', { path: { id } });
    await load();
  };
  useEffect(() => {
    load().catch((error: unknown) => complain(detailOf(error)));
  }, []);
  const unlinked = choices.value.filter(({ name }) => own.value.every((one) => one.issuer_name !== name));
  if (own.value.length === 0 && unlinked.length === 0) return null;
  return (
    <section class={page['part']}>
      <h2>{words.identities}</h2>
      <p class="muted">{words.identitiesHelp}</p>
      {own.value.length > 0 && (
        <Table
          label={words.identities}
          columns={identityColumns(user.value?.issuer_id ?? null, unlink)}
          records={own.value}
          keyOf={({ id }: UserIdentity) => id}
        />
      )}
      <div class={page['actions']}>
        {unlinked.map(({ name, title }) => (
          <button key={name} type="button" onClick={() => void link(name)}>
            {words.link(title)}
          </button>
        ))}
        {own.value.length > 0 && user.value?.has_password === true && (
          <Removal
            title={words.noPasswordTitle}
            text={words.noPasswordText}
            act={words.noPassword}
            onAct={async () => {
              await client.call('deleteMyPassword');
              await readSession();
            }}
          />
        )}
      </div>
    </section>
  );
}

async function link(issuer: string): Promise<void> {
  try {
    const { url } = await client.call('linkMyIdentity', { body: { issuer } });
    location.assign(url);
  } catch (error) {
    complain(detailOf(error));
  }
}

/** @param madeBy the issuer that made the account, whose identity stays linked */
export function identityColumns(
  madeBy: string | null,
  unlink: (id: string) => Promise<void>,
): Column<UserIdentity>[] {
  return [
    { title: words.issuer, cell: ({ issuer_title: title }) => title },
    { title: words.account, cell: ({ label, subject }) => label ?? subject ?? '', long: true },
    {
      title: words.lastLogIn,
      cell: ({ last_log_in_at: at }) => (at === null ? words.never : <When at={at} />),
      minor: true,
    },
    {
      title: words.acts,
      acts: true,
      cell: ({ id, issuer_title: title, issuer_id: issuer }) =>
        issuer !== madeBy && (
          <Removal
            title={words.unlinkTitle(title)}
            text={words.unlinkText}
            act={words.unlink}
            onAct={() => unlink(id)}
          />
        ),
    },
  ];
}
