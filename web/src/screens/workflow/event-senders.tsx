/** Other users whose events reach the workflow. */
import type { EventSenders, Workflow } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { personName } from '../../data/people.ts';
import { cache, useQuery } from '../../data/query.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import { words } from './event-senders-words.ts';
import css from './workflow.module.css';

const schema = {
  type: 'object',
  properties: {
    users: { type: 'array', items: { type: 'string' }, title: words.users, description: words.usersHelp },
  },
};

export function EventSendersCard({ workflow: { id } }: { workflow: Workflow }) {
  const queryKey = ['event-senders', id];
  const path = { id };
  const { data, error, refetch } = useQuery<EventSenders>({
    queryKey,
    queryFn: ({ signal }) => client.call('getEventSenders', { path, signal }),
  });
  if (data === undefined)
    return error === null ? null : <ProblemText error={error} retry={() => void refetch()} />;
  const save = async (body: Record<string, unknown>) => {
    // The form's schema is that of the request; without an entry it has no list.
    const users = (body['users'] ?? []) as string[];
    cache.setQueryData(queryKey, await client.call('setEventSenders', { path, body: { users } }));
  };
  return (
    <section class={`${page['part']} ${css['card']}`}>
      <h2>{words.title}</h2>
      {data.users.length === 0 ? (
        <p class="muted">{words.none}</p>
      ) : (
        <ul aria-label={words.title}>
          {data.users.map((user) => (
            <li key={user}>{personName(user)}</li>
          ))}
        </ul>
      )}
      <div class={page['actions']}>
        <FormDialog
          id="senders"
          button={words.change}
          title={words.title}
          help={words.help}
          submit={words.save}
          schema={schema}
          values={{ users: data.users }}
          onSubmit={save}
        />
      </div>
    </section>
  );
}
