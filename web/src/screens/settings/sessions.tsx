import type { Session } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import { Table, type Column } from '../../ui/table.tsx';
import { tell } from '../../ui/toasts.tsx';
import { When } from '../../ui/when.tsx';
import { Removal } from './removal.tsx';
import { Waits } from './waits.tsx';
import { words } from './words.ts';

/** Where one is logged in, and how to end that. */
export function Sessions() {
  const list = usePages(['sessions'], (cursor) =>
    client.page('listMySessions', { query: { cursor: cursor ?? undefined } }),
  );
  const end = async (id: string) => {
    await client.call('deleteMySession', { path: { id } });
    await list.reload();
  };
  return (
    <>
      <p class="muted">{words.sessionsHelp}</p>
      <div class={page['actions']}>
        <Removal
          title={words.elsewhereTitle}
          text={words.elsewhereText}
          act={words.elsewhere}
          onAct={async () => {
            await client.call('deleteMyOtherSessions');
            await list.reload();
            tell(words.elsewhereDone);
          }}
        />
      </div>
      <ListState list={list} empty={null}>
        <Table
          label={words.parts.sessions}
          columns={sessionColumns(end)}
          records={list.items.value}
          keyOf={({ id }: Session) => id}
        />
      </ListState>
    </>
  );
}

function deviceOf({ client_name: name, device }: Session): string {
  return name ?? device ?? words.unknownDevice;
}

/** @param end ends the session with the id */
export function sessionColumns(end: (id: string) => Promise<void>): Column<Session>[] {
  const { device, address, used, expires } = words.sessionColumns;
  return [
    {
      title: device,
      cell: (session) => (
        <>
          {`${deviceOf(session)} (${words.kinds[session.kind]})`}
          <Waits one={session} />
        </>
      ),
      long: true,
    },
    { title: address, cell: (session) => session.address ?? '–', minor: true },
    { title: used, cell: ({ last_used_at: at }) => <When at={at} />, minor: true },
    { title: expires, cell: ({ expires_at: at }) => <When at={at} />, minor: true },
    {
      title: words.acts,
      acts: true,
      cell: (session) =>
        session.current ? (
          words.thisSession
        ) : (
          <Removal
            title={words.endTitle(deviceOf(session))}
            text={words.endText}
            act={words.end}
            onAct={() => end(session.id)}
          />
        ),
    },
  ];
}
