/** What one was told about human tasks, and how one wants to be told. */
import type { Notification, NotificationSettings } from '../../../../client/index.ts';
import { OPTIONAL_MAIL_KINDS } from '../../../../contracts/account-mails.ts';
import { DIGESTS, NOTIFICATION_KINDS } from '../../../../contracts/notification-kinds.ts';
import { inboxAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { cache, useQuery } from '../../data/query.ts';
import { usePages } from '../../data/record-pages.ts';
import { mayCall } from '../../data/session.ts';
import { mayCallForAny } from '../../data/teams.ts';
import { UNREAD_KEY } from '../../data/task-counts.ts';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import { detailOf } from '../../ui/problem.tsx';
import { RecordForm } from '../../ui/record-form.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { complain, tell } from '../../ui/toasts.tsx';
import { When } from '../../ui/when.tsx';
import { Absences } from './absences.tsx';
import { Chats } from './chats.tsx';
import { words } from './notification-words.ts';

export function NotificationsPart() {
  return (
    <>
      <p class="muted">{words.help}</p>
      <Told />
      <Choices />
      <Absences />
      {mayCallForAny('createNotificationChannel') && <Chats />}
    </>
  );
}

function Told() {
  const list = usePages(['notifications'], (cursor) =>
    client.page('listNotifications', { query: { limit: 50, cursor: cursor ?? undefined } }),
  );
  const newest = list.items.value[0];
  const readAll = async () => {
    if (newest === undefined) return;
    await client.call('markNotificationsRead', { body: { up_to: newest.id } });
    await Promise.all([list.reload(), cache.invalidateQueries({ queryKey: UNREAD_KEY })]);
  };
  return (
    <section>
      {list.items.value.some(({ read_at: at }) => at === null) && (
        <div class={page['actions']}>
          <button
            type="button"
            onClick={() => void readAll().catch((error: unknown) => complain(detailOf(error)))}
          >
            {words.readAll}
          </button>
        </div>
      )}
      <ListState list={list} empty={<p>{words.none}</p>}>
        <Table label={words.list} columns={COLUMNS} records={list.items.value} keyOf={({ id }) => id} />
      </ListState>
    </section>
  );
}

const COLUMNS: Column<Notification>[] = [
  {
    title: words.what,
    cell: ({ kind, read_at: at }) =>
      at === null ? <b>{`${words.newOne}: ${words.kinds[kind]}`}</b> : words.kinds[kind],
  },
  {
    title: words.task,
    text: true,
    cell: ({ id, task, actor, comment, in_place_of: absent, read_at: at }) => (
      <>
        <a
          href={inboxAddress({ task: task.id, scope: 'all' })}
          onClick={() => {
            if (at === null) void markRead(id);
          }}
        >
          {task.title}
        </a>
        {absent !== null && <> {words.inPlaceOf(absent.display_name)}</>}
        {comment !== null && <p class="muted">{words.wrote(actor?.display_name ?? '', comment)}</p>}
      </>
    ),
  },
  { title: words.when, cell: ({ created_at: at }) => <When at={at} />, minor: true },
];

async function markRead(id: string): Promise<void> {
  await client.call('markNotificationsRead', { body: { ids: [id] } }).catch(() => {});
  await cache.invalidateQueries({ queryKey: UNREAD_KEY });
}

const MAIL_KINDS = [...NOTIFICATION_KINDS, ...OPTIONAL_MAIL_KINDS] as const;
type MailKind = (typeof MAIL_KINDS)[number];

const SETTINGS_KEY = ['notification settings'];

function Choices() {
  const { data } = useQuery({
    queryKey: SETTINGS_KEY,
    queryFn: ({ signal }) => client.call('getNotificationSettings', { signal }),
  });
  if (data === undefined) return null;
  return (
    <section class={page['part']}>
      <h2>{words.choices}</h2>
      {!data.mail_available && <p class="muted">{words.noMail}</p>}
      <RecordForm
        id="notification-settings"
        sections={[
          { id: 'choices', member: '', schema: schemaOf(data.default_time_zone), values: valuesOf(data) },
        ]}
        submit={words.save}
        onSubmit={async (body) => {
          await client.call('putNotificationSettings', { body: settingsOf(body) });
          await cache.invalidateQueries({ queryKey: SETTINGS_KEY });
          tell(words.saved);
        }}
      />
      {mayCall('sendTestMail') && data.mail_available && (
        <div class={page['actions']}>
          <button
            type="button"
            onClick={() => void testMail().catch((error: unknown) => complain(detailOf(error)))}
          >
            {words.testMail}
          </button>
        </div>
      )}
    </section>
  );
}

async function testMail(): Promise<void> {
  const { sent, to, error } = await client.call('sendTestMail', { body: {} });
  if (sent) tell(words.testSent(to));
  else complain(error ?? '');
}

function schemaOf(defaultZone: string) {
  const ofKinds = (title: string, kinds: readonly MailKind[]) => ({
    type: 'object',
    title,
    properties: Object.fromEntries(
      kinds.map((kind) => [kind, { type: 'boolean', title: words.kinds[kind] }]),
    ),
  });
  const clock = (title: string) => ({
    type: 'string',
    pattern: '^([01]\\d|2[0-3]):[0-5]\\d$',
    title,
    examples: ['22:00'],
  });
  return {
    type: 'object',
    properties: {
      mail: ofKinds(words.mail, MAIL_KINDS),
      chat: ofKinds(words.chat, NOTIFICATION_KINDS),
      digest: { type: 'string', enum: [...DIGESTS], title: words.digest, description: words.digestHelp },
      digest_at: clock(words.digestAt),
      quiet_hours: {
        type: 'object',
        title: words.quiet,
        description: words.quietHelp,
        required: ['from', 'to'],
        properties: { from: clock(words.from), to: clock(words.until) },
      },
      time_zone: {
        type: 'string',
        title: words.timeZone,
        description: words.timeZoneHelp(defaultZone),
      },
    },
  };
}

function valuesOf(settings: NotificationSettings): Record<string, unknown> {
  const { digest = 'off', digest_at: at, quiet_hours: quiet, time_zone: zone } = settings;
  const ofKinds = (kinds: readonly MailKind[], chosen: NotificationSettings['mail']) =>
    Object.fromEntries(kinds.map((kind) => [kind, chosen?.[kind] !== false]));
  return {
    mail: ofKinds(MAIL_KINDS, settings.mail),
    chat: ofKinds(NOTIFICATION_KINDS, settings.chat),
    digest,
    ...(at === undefined ? {} : { digest_at: at }),
    ...(quiet ? { quiet_hours: quiet } : {}),
    ...(zone ? { time_zone: zone } : {}),
  };
}

/** The form's body has the schema's fields. What was emptied has its default again, like what is left out. */
function settingsOf(body: Record<string, unknown>): object {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
}
