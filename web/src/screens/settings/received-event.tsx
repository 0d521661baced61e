/** An event as it was received. */
import type { ReceivedEvent as Received } from '../../../../client/index.ts';
import { runAddress, settingsAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import { exactTime } from '../../ui/time.ts';
import { Value } from '../../ui/value.tsx';
import { words } from './event-words.ts';
import css from './settings.module.css';

export function ReceivedEvent({ id }: { id: string }) {
  const { data, error, refetch } = useQuery<Received>({
    queryKey: ['received event', id],
    queryFn: ({ signal }) => client.call('getReceivedEvent', { path: { id }, signal }),
  });
  return (
    <>
      <a class={page['back']} href={settingsAddress('events')}>
        ‹ {words.allEvents}
      </a>
      {data === undefined && error === null && <div aria-busy="true" />}
      {data === undefined && error !== null && <ProblemText error={error} retry={() => void refetch()} />}
      {data !== undefined && <Shown record={data} />}
    </>
  );
}

function Shown({ record }: { record: Received }) {
  const { type, source, event_id: id, subject, received_at: at, run_id: run, hook_id: hook } = record;
  const { type: typeTitle, source: sourceTitle, id: idTitle, at: atTitle } = words.eventColumns;
  const facts = [
    [sourceTitle, source],
    [idTitle, id],
    [words.subject, subject],
    [atTitle, exactTime(at)],
    [words.by, hook === null ? record.client_id : words.aHook],
  ] as const;
  return (
    <section class={page['part']} aria-label={typeTitle}>
      <h2>{type}</h2>
      <dl class={css['facts']}>
        {facts.map(
          ([name, value]) =>
            value !== null && (
              <>
                <dt key={name}>{name}</dt>
                <dd>{value}</dd>
              </>
            ),
        )}
      </dl>
      {run !== null && <a href={runAddress(run)}>{words.itsRun}</a>}
      <h3>{words.data}</h3>
      <Value value={record.event.data} label={words.data} />
    </section>
  );
}
