/** Other users whose events reach the workflow. */
import { useSignal } from '@preact/signals';

import type { EventSenders, Workflow } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { personName, readPersonId } from '../../data/people.ts';
import { cache, useQuery } from '../../data/query.ts';
import { PersonLabel } from '../../ui/avatar.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import { peopleSchema } from '../../ui/people-field.tsx';
import { TaggedForm } from '../../ui/tagged-form.tsx';
import { words } from './event-senders-words.ts';
import css from './workflow.module.css';

const schema = {
  type: 'object',
  properties: {
    users: peopleSchema(words.users, words.usersHelp),
  },
};

export function EventSendersCard({ workflow: { id } }: { workflow: Workflow }) {
  const isOpen = useSignal(false);
  const close = () => (isOpen.value = false);
  const queryKey = ['event-senders', id];
  const path = { id };
  const { data, error, refetch } = useQuery<EventSenders>({
    queryKey,
    queryFn: ({ signal }) => client.call('getEventSenders', { path, signal }),
  });
  if (data === undefined)
    return error === null ? null : <ProblemText error={error} retry={() => void refetch()} />;
  return (
    <section class={`${page['part']} ${css['card']}`}>
      <h2>{words.title}</h2>
      {data.users.length === 0 ? (
        <p class="muted">{words.none}</p>
      ) : (
        <ul aria-label={words.title}>
          {data.users.map((user) => (
            <li key={user}>
              <PersonLabel id={user} name={personName(user)} />
            </li>
          ))}
        </ul>
      )}
      <div class={page['actions']}>
        <button type="button" onClick={() => (isOpen.value = true)}>
          {words.change}
        </button>
        <Dialog open={isOpen.value} title={words.title} onClose={close}>
          <p class="muted">{words.help}</p>
          <TaggedForm<EventSenders>
            id="senders"
            queryKey={['event-senders-edit', id]}
            read={(signal) => client.tagged('getEventSenders', { path, signal })}
            schema={schema}
            valuesOf={({ users }) => ({ users })}
            submit={words.save}
            save={async (body, headers) => {
              const entered = Array.isArray(body['users']) ? body['users'].map(String) : [];
              const changed = { users: await Promise.all([...new Set(entered)].map(readPersonId)) };
              cache.setQueryData(
                queryKey,
                await client.call('setEventSenders', { path, body: changed, headers }),
              );
            }}
            onClose={close}
          />
        </Dialog>
      </div>
    </section>
  );
}
