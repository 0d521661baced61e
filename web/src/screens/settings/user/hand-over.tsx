/** Hands over all that a user owns, and shows how far it has come. */
import { useEffect, useRef } from 'preact/hooks';

import { ApiError, type Transfer, type User } from '../../../../../client/index.ts';
import { client } from '../../../data/api.ts';
import { personName, readPersonId } from '../../../data/people.ts';
import { cache, useQuery } from '../../../data/query.ts';
import { FormDialog } from '../../../ui/form-dialog.tsx';
import page from '../../../ui/page.module.css';
import { personSchema } from '../../../ui/person-field.tsx';
import { ProblemText } from '../../../ui/problem.tsx';
import type { Schema } from '../../../ui/schema-form/fields.ts';
import { tell } from '../../../ui/toasts.tsx';
import { eraseWords } from '../erase-words.ts';
import { words } from './user-words.ts';

/** How often a transfer that goes on is looked at. */
const LOOK_MS = 2_000;

const schema: Schema = {
  type: 'object',
  required: ['to'],
  properties: { to: personSchema(words.to, words.toHelp) },
};

export function HandOver({ user: { id, username } }: { user: User }) {
  const path = { id };
  const queryKey = ['transfer', id];
  const {
    data: last,
    error,
    refetch,
  } = useQuery<Transfer | null>({
    queryKey,
    queryFn: () => readTransfer(id),
    staleTime: 0,
    refetchInterval: ({ state }) => (state.data?.status === 'running' ? LOOK_MS : false),
  });
  useEndTold(username, last);
  const handOver = async (to: string) => {
    const begun = await client.call('transferUser', { path, body: { to: await readPersonId(to) } });
    cache.setQueryData(queryKey, begun);
    if (begun.status === 'done') tell(words.handedDone(username, to));
  };
  return (
    <section class={page['part']}>
      <h2>{words.handOver}</h2>
      {error !== null && <ProblemText error={error} retry={() => void refetch()} />}
      {last === null && <p>{words.neverHanded}</p>}
      {last && <Report transfer={last} />}
      {last?.status !== 'running' && (
        <div class={page['actions']}>
          <FormDialog
            id="hand-over"
            button={words.handOver}
            title={words.handOverTitle(username)}
            help={words.handOverHelp}
            submit={words.handOver}
            schema={schema}
            onSubmit={(body) => handOver(String(body['to']))}
          />
        </div>
      )}
    </section>
  );
}

/** Null without one. */
async function readTransfer(id: string): Promise<Transfer | null> {
  try {
    return await client.call('getTransfer', { path: { id } });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return null;
    throw error;
  }
}

/** Says once that a transfer which was seen under way has ended. */
function useEndTold(username: string, transfer: Transfer | null | undefined): void {
  const wasRunning = useRef(false);
  const status = transfer?.status;
  useEffect(() => {
    if (wasRunning.current && status === 'done' && transfer)
      tell(words.handedDone(username, personName(transfer.to)));
    wasRunning.current = status === 'running';
  }, [status]);
}

function Report({ transfer }: { transfer: Transfer }) {
  const { status, to, secrets_renamed: renamed, ...counts } = transfer;
  const kinds = Object.entries(counts).flatMap(([kind, count]) =>
    count === 0 ? [] : [eraseWords.counted(kind, count)],
  );
  const names = Object.entries(renamed);
  const name = personName(to);
  return (
    <dl aria-live="polite">
      <dt>{status === 'running' ? words.handing(name) : words.handed(name)}</dt>
      <dd>{kinds.length === 0 ? eraseWords.nothing : kinds.join(', ')}</dd>
      {names.length > 0 && (
        <>
          <dt>{words.renamed}</dt>
          {names.map(([before, now]) => (
            <dd key={before}>
              <code>{before}</code> → <code>{now}</code>
            </dd>
          ))}
        </>
      )}
    </dl>
  );
}
