/** Events that are sent in: by whom, by which webhooks, and the last ones. */
import type {
  CreateEventSourceRequest,
  CreateHookRequest,
  EventSource,
  InboundWebhook,
  ListedReceivedEvent,
  UpdateHookRequest,
} from '../../../../client/index.ts';
import { HOOK_SCHEMES } from '../../../../contracts/hooks.ts';
import { query, setQuery } from '../../app/router.ts';
import { settingsAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { seesAll } from '../../data/session.ts';
import { mayCallFor } from '../../data/teams.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { ListState } from '../../ui/list-state.tsx';
import type { NewHolder } from '../../ui/move/holder.ts';
import {
  ANY_HOLDER,
  holderText,
  isOfAnother,
  OwnerFilter,
  ownerColumns,
  ownerQuery,
} from '../../ui/owner-filter.tsx';
import page from '../../ui/page.module.css';
import { detailOf } from '../../ui/problem.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { TeamFilter } from '../../ui/team-filter.tsx';
import { words as teamWords } from '../../ui/team-words.ts';
import { complain } from '../../ui/toasts.tsx';
import { When } from '../../ui/when.tsx';
import { words } from './event-words.ts';
import { MoveHeld } from './move-held.tsx';
import { ReceivedEvent } from './received-event.tsx';
import { Removal } from './removal.tsx';
import { RotateHook } from './rotate-hook.tsx';
import { RowActs } from './row-acts.tsx';
import { SendEvent } from './send-event.tsx';
import css from './settings.module.css';
import { SourceEdit } from './source-edit.tsx';
import { sourceSchema } from './source-schema.ts';

export function Events() {
  const event = query.value['event'];
  if (event !== undefined) return <ReceivedEvent key={event} id={event} />;
  return (
    <>
      <p class="muted">{words.help}</p>
      <search class={page['filters']}>
        <TeamFilter all={seesAll() ? teamWords.any : teamWords.mine} />
        <OwnerFilter />
      </search>
      <Hooks />
      <Sources />
      <Received />
    </>
  );
}

const hookSchema = {
  type: 'object',
  required: ['name', 'scheme', 'secret'],
  properties: {
    name: { type: 'string', title: words.name },
    scheme: { type: 'string', enum: [...HOOK_SCHEMES], title: words.scheme },
    secret: { type: 'string', title: words.secret, description: words.secretHelp },
    event_type: { type: 'string', title: words.type, description: words.typeHelp },
    source: { type: 'string', title: words.source, description: words.sourceHelp },
    tolerance_seconds: {
      type: 'integer',
      minimum: 1,
      maximum: 3_600,
      title: words.tolerance,
      description: words.toleranceHelp,
    },
  },
};
const { scheme: _scheme, secret: _secret, ...changeable } = hookSchema.properties;
const hookChanges = {
  type: 'object',
  required: ['name', 'source', 'tolerance_seconds'],
  properties: changeable,
};

/** Of the chosen team. */
function holderQuery(): { team_id?: string } {
  const { team = '' } = query.value;
  return team === '' ? {} : { team_id: team };
}

function Hooks() {
  const held = holderQuery();
  const owned = ownerQuery();
  const list = usePages(['hooks', held.team_id ?? '', owned.owner_id ?? ''], (cursor) =>
    client.page('listHooks', { query: { cursor: cursor ?? undefined, ...held, ...owned } }),
  );
  const create = async (body: Record<string, unknown>) => {
    // The form's schema is that of the request.
    await client.call('createHook', { body: { ...body, ...held } as CreateHookRequest });
    await list.reload();
  };
  return (
    <section class={page['part']}>
      <div class={page['actions']}>
        <h2>{words.hooks}</h2>
        {mayCallFor('createHook', held.team_id ?? '') && !isOfAnother() && (
          <FormDialog
            id="hook"
            button={words.newHook}
            title={words.newHook}
            submit={words.create}
            schema={hookSchema}
            onSubmit={create}
          />
        )}
      </div>
      <ListState
        list={list}
        filter={holderText()}
        onClear={() => setQuery(ANY_HOLDER)}
        empty={<p>{words.noHooks}</p>}
      >
        <Table
          label={words.hooks}
          columns={hookColumns(() => list.reload())}
          records={list.items.value}
          keyOf={({ id }: InboundWebhook) => id}
        />
      </ListState>
    </section>
  );
}

function hookColumns(reload: () => Promise<void>): Column<InboundWebhook>[] {
  const { name, url, scheme, secret, last, refused } = words.hookColumns;
  return [
    { title: name, cell: (hook) => (hook.active ? hook.name : `${hook.name} (${words.off})`) },
    ...ownerColumns<InboundWebhook>(),
    { title: url, cell: (hook) => <code>{hook.url}</code>, minor: true, long: true },
    { title: scheme, cell: (hook) => hook.scheme, minor: true },
    {
      title: secret,
      cell: ({ secret: current, former_secret: former }) =>
        former === null ? current : words.rotating(current, former),
      minor: true,
    },
    {
      title: last,
      cell: ({ last_received_at: at }) => (at === null ? words.never : <When at={at} />),
      minor: true,
    },
    { title: refused, cell: (hook) => <Refusal hook={hook} />, text: true },
    { title: words.acts, acts: true, cell: (hook) => <HookActs hook={hook} reload={reload} /> },
  ];
}

/** Its last call may have been refused: what was received before says nothing about it. */
function Refusal({ hook }: { hook: InboundWebhook }) {
  const { last_refused_at: at, last_refusal: reason } = hook;
  if (at === null || reason === null) return words.never;
  return (
    <>
      {words.refusals[reason]}, <When at={at} />
    </>
  );
}

function HookActs({ hook, reload }: { hook: InboundWebhook; reload: () => Promise<void> }) {
  if (!mayCallFor('updateHook', hook.team_id)) return null;
  const change = async (body: UpdateHookRequest) => {
    await client.call('updateHook', { path: { id: hook.id }, body });
    await reload();
  };
  const act = (body: UpdateHookRequest) =>
    void change(body).catch((error: unknown) => complain(detailOf(error)));
  const { name, event_type, source, tolerance_seconds } = hook;
  return (
    <RowActs more={<RareHookActs hook={hook} change={change} reload={reload} />}>
      <FormDialog
        id={`hook-${hook.id}`}
        button={words.edit}
        title={words.editHook}
        submit={words.save}
        schema={hookChanges}
        values={{ name, event_type, source, tolerance_seconds }}
        onSubmit={change}
      />
      <button type="button" onClick={() => act({ active: !hook.active })}>
        {hook.active ? words.turnOff : words.turnOn}
      </button>
      {hook.former_secret !== null && (
        <button type="button" onClick={() => act({ former_secret: null })}>
          {words.endRotation}
        </button>
      )}
    </RowActs>
  );
}

interface RareHookProps {
  hook: InboundWebhook;
  change: (body: UpdateHookRequest) => Promise<void>;
  reload: () => Promise<void>;
}

function RareHookActs({ hook, change, reload }: RareHookProps) {
  return (
    <>
      {hook.former_secret === null && <RotateHook id={hook.id} onRotated={reload} />}
      <MoveHeld by="updateHook" kind="hook" name={hook.name} record={hook} onMove={(to) => change(to)} />
      <Removal
        title={words.deleteHook}
        text={words.deleteHookText(hook.name)}
        onAct={async () => {
          await client.call('deleteHook', { path: { id: hook.id } });
          await reload();
        }}
      />
    </>
  );
}

function Sources() {
  const held = holderQuery();
  const owned = ownerQuery();
  const list = usePages(['event-sources', held.team_id ?? '', owned.owner_id ?? ''], (cursor) =>
    client.page('listEventSources', { query: { cursor: cursor ?? undefined, ...held, ...owned } }),
  );
  const create = async (body: Record<string, unknown>) => {
    // The form's schema is that of the request.
    await client.call('createEventSource', { body: { ...body, ...held } as CreateEventSourceRequest });
    await list.reload();
  };
  const remove = async (id: string) => {
    await client.call('deleteEventSource', { path: { id } });
    await list.reload();
  };
  return (
    <section class={page['part']}>
      <div class={page['actions']}>
        <h2>{words.sources}</h2>
        {mayCallFor('createEventSource', held.team_id ?? '') && !isOfAnother() && (
          <FormDialog
            id="source"
            button={words.newSource}
            title={words.newSource}
            help={words.sourcesHelp}
            submit={words.create}
            schema={sourceSchema}
            onSubmit={create}
          />
        )}
      </div>
      <ListState
        list={list}
        filter={holderText()}
        onClear={() => setQuery(ANY_HOLDER)}
        empty={<p>{words.noSources}</p>}
      >
        <Table
          label={words.sources}
          columns={sourceColumns(remove, () => list.reload())}
          records={list.items.value}
          keyOf={({ id }: EventSource) => id}
        />
      </ListState>
    </section>
  );
}

function sourceColumns(
  remove: (id: string) => Promise<void>,
  reload: () => Promise<void>,
): Column<EventSource>[] {
  const move = async (id: string, to: NewHolder) => {
    await client.call('updateEventSource', { path: { id }, body: to });
    await reload();
  };
  const { source, from, shared } = words.sourceColumns;
  return [
    { title: source, cell: (record) => <code>{record.source}</code>, long: true },
    ...ownerColumns<EventSource>(),
    {
      title: from,
      cell: (record) => record.client_id ?? record.user_name ?? record.user_id ?? words.anyone,
      minor: true,
    },
    {
      title: shared,
      cell: ({ shared_with: users }) => (users.length === 0 ? '–' : words.people(users.length)),
      minor: true,
    },
    {
      title: words.acts,
      acts: true,
      cell: (record) =>
        mayCallFor('updateEventSource', record.team_id) && (
          <span class={page['actions']}>
            <SourceEdit id={record.id} onSaved={reload} />
            <MoveHeld
              by="updateEventSource"
              kind="source"
              name={record.source}
              record={record}
              onMove={(to) => move(record.id, to)}
            />
            <Removal
              title={words.deleteSource}
              text={words.deleteSourceText(record.source)}
              onAct={() => remove(record.id)}
            />
          </span>
        ),
    },
  ];
}

/** As long as the API takes them. */
const MAX_FILTER_LENGTH = 1_000;
const FILTERS = ['type', 'source'] as const;

function Received() {
  const { type = '', source = '' } = query.value;
  const held = holderQuery();
  const chosen = ownerQuery();
  const isOfTeam = held.team_id !== undefined;
  // A received event is a team's or a person's: nothing is both.
  const owned = isOfTeam ? {} : chosen;
  const list = usePages(['received', type, source, held.team_id ?? '', owned.owner_id ?? ''], (cursor) =>
    client.page('listReceivedEvents', {
      query: {
        cursor: cursor ?? undefined,
        ...(type === '' ? {} : { type }),
        ...(source === '' ? {} : { source }),
        ...held,
        ...owned,
      },
    }),
  );
  return (
    <section class={page['part']}>
      <div class={page['actions']}>
        <h2>{words.received}</h2>
        {mayCallFor('publishEvent', held.team_id ?? '') && !isOfAnother() && (
          <SendEvent held={held} onSent={() => list.reload()} />
        )}
      </div>
      {seesAll() && !isOfTeam && owned.owner_id === undefined && <p class="muted">{words.ownReceived}</p>}
      {isOfTeam && chosen.owner_id !== undefined && <p class="muted">{words.teamReceived}</p>}
      <search class={page['filters']}>
        {FILTERS.map((name) => (
          <input
            key={name}
            class={css['filter']}
            aria-label={words.filters[name]}
            placeholder={words.filters[name]}
            maxLength={MAX_FILTER_LENGTH}
            value={query.value[name] ?? ''}
            onInput={({ currentTarget }) => setQuery({ [name]: currentTarget.value }, 'replace')}
          />
        ))}
      </search>
      <ListState
        list={list}
        filter={[type, source, holderText()].filter((part) => part !== '').join(', ')}
        onClear={() => setQuery({ type: undefined, source: undefined, ...ANY_HOLDER })}
        empty={<p>{words.noEvents}</p>}
      >
        <Table
          label={words.received}
          columns={eventColumns()}
          records={list.items.value}
          keyOf={({ id }: ListedReceivedEvent) => id}
        />
      </ListState>
    </section>
  );
}

function eventColumns(): Column<ListedReceivedEvent>[] {
  const { type, source, id, at } = words.eventColumns;
  return [
    {
      title: type,
      cell: (event) => <a href={settingsAddress('events', { event: event.id })}>{event.type}</a>,
    },
    { title: source, cell: (event) => event.source, minor: true, long: true },
    { title: id, cell: (event) => event.event_id, minor: true, long: true },
    { title: at, cell: (event) => <When at={event.received_at} />, minor: true, end: true },
  ];
}
