/** The last backups, for admins: when, how large, and what is wrong with them. */
import type { Backups } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { DocumentedText } from '../../ui/documented-text.tsx';
import { ProblemText } from '../../ui/problem.tsx';
import { sizeText } from '../../ui/size.ts';
import { lengthText } from '../../ui/time.ts';
import { When } from '../../ui/when.tsx';
import { words } from './backup-words.ts';
import css from './settings.module.css';

const READ_EVERY_MS = 10_000;

export function LatestBackups() {
  const { data, error, refetch } = useQuery<Backups>({
    queryKey: ['backups'],
    queryFn: () => client.call('getLatestBackups'),
    staleTime: 0,
    refetchInterval: READ_EVERY_MS,
  });
  return (
    <section aria-labelledby="backups">
      <h2 id="backups">{words.title}</h2>
      {data === undefined && error === null && <div aria-busy="true" />}
      {data === undefined && error !== null && <ProblemText error={error} retry={() => void refetch()} />}
      {data !== undefined && <Facts backups={data} />}
    </section>
  );
}

function Facts({
  backups: { complete, failed, failures, running_since: since, warning },
}: {
  backups: Backups;
}) {
  return (
    <>
      {warning !== null && (
        <p class={css['bad']}>
          <DocumentedText text={warning} />
        </p>
      )}
      <dl class={css['facts']}>
        <dt>{words.last}</dt>
        {complete === null ? (
          <dd>{words.none}</dd>
        ) : (
          <dd>
            <When at={complete.started_at} />{' '}
            <span class="muted">
              {words.lastHelp(sizeText(complete.bytes), lengthText(complete.seconds * 1_000))}
            </span>
          </dd>
        )}
        {complete !== null && (
          <>
            <dt>{words.place}</dt>
            <dd>{complete.place}</dd>
          </>
        )}
        {failed !== null && failures > 0 && (
          <>
            <dt>{words.failed}</dt>
            <dd>
              <When at={failed.ended_at} />
            </dd>
          </>
        )}
        {since !== null && (
          <>
            <dt>{words.running}</dt>
            <dd>
              {words.since} <When at={since} />
            </dd>
          </>
        )}
      </dl>
    </>
  );
}
