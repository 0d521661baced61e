import { useSignal } from '@preact/signals';

import type {
  CreateWebhookRequest,
  Delivery,
  UpdateWebhookRequest,
  Webhook,
} from '../../../../client/index.ts';
import { query, setQuery } from '../../app/router.ts';
import { settingsAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { seesAll } from '../../data/session.ts';
import { mayCallFor, mayCallForAny } from '../../data/teams.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { ListState } from '../../ui/list-state.tsx';
import {
  ANY_HOLDER,
  holderText,
  isOfAnother,
  OwnerFilter,
  ownerColumns,
  ownerQuery,
} from '../../ui/owner-filter.tsx';
import { isNarrow } from '../../ui/narrow.ts';
import page from '../../ui/page.module.css';
import { detailOf } from '../../ui/problem.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { TeamFilter } from '../../ui/team-filter.tsx';
import { words as teamWords } from '../../ui/team-words.ts';
import { complain, tell } from '../../ui/toasts.tsx';
import { WarningCount } from '../../ui/warnings.tsx';
import { When } from '../../ui/when.tsx';
import { MoveHeld } from './move-held.tsx';
import { Removal } from './removal.tsx';
import { RotateWebhook } from './rotate-webhook.tsx';
import { words as rotateWords } from './rotate-words.ts';
import { RowActs } from './row-acts.tsx';
import { ShownOnce } from './shown-once.tsx';
import { words } from './words.ts';

const schema = {
  type: 'object',
  required: ['url'],
  properties: {
    url: { type: 'string', title: words.url },
    types: { type: 'array', items: { type: 'string' }, title: words.types, description: words.typesHelp },
    description: { type: 'string', title: words.description },
  },
};

export function Webhooks() {
  const webhook = query.value['webhook'];
  return webhook === undefined ? <AllWebhooks /> : <Deliveries key={webhook} id={webhook} />;
}

/** Acts at once; a refusal is shown at the bottom of the screen. */
function act(done: () => Promise<void>): void {
  done().catch((error: unknown) => complain(detailOf(error)));
}

function AllWebhooks() {
  const secret = useSignal<Record<string, string> | null>(null);
  const { team = '' } = query.value;
  const held = team === '' ? {} : { team_id: team };
  const owned = ownerQuery();
  const list = usePages(['webhooks', team, owned.owner_id ?? ''], (cursor) =>
    client.page('listWebhooks', { query: { cursor: cursor ?? undefined, ...held, ...owned } }),
  );
  const create = async (body: Record<string, unknown>) => {
    // The form's schema is that of the request.
    const made = await client.call('createWebhook', { body: { ...body, ...held } as CreateWebhookRequest });
    secret.value = { [words.signingSecret]: made.secret };
    await list.reload();
  };
  const rotated = async (newSecret: string) => {
    // Its row may be gone then: the list begins anew with the first page.
    secret.value = { [words.signingSecret]: newSecret };
    await list.reload();
  };
  return (
    <>
      <p class="muted">{words.webhooksHelp}</p>
      <search class={page['filters']}>
        <TeamFilter all={seesAll() ? teamWords.any : teamWords.ours} />
        <OwnerFilter />
      </search>
      {mayCallFor('createWebhook', team) && !isOfAnother() && (
        <div class={page['actions']}>
          <FormDialog
            id="webhook"
            button={words.newWebhook}
            title={words.newWebhook}
            submit={words.create}
            schema={schema}
            onSubmit={create}
          />
        </div>
      )}
      <ListState
        list={list}
        filter={holderText()}
        onClear={() => setQuery(ANY_HOLDER)}
        empty={<p>{words.noWebhooks}</p>}
      >
        <Table
          label={words.parts.webhooks}
          columns={webhookColumns({ reload: () => list.reload(), rotated })}
          records={list.items.value}
          keyOf={({ id }: Webhook) => id}
        />
      </ListState>
      <ShownOnce values={secret.value} onClose={() => (secret.value = null)} />
    </>
  );
}

function stateOf({ active, disabled_reason: reason }: Webhook): string {
  return reason === null ? (active ? words.active : words.inactive) : words.reasons[reason];
}

function State({ webhook }: { webhook: Webhook }) {
  const { former_secret_until: until, failing_since: failing, last_error: error, pending } = webhook;
  return (
    <>
      {stateOf(webhook)}
      {failing !== null && (
        <>
          , <b>{words.failingSince}</b> <When at={failing} />: {words.failure(error ?? '', pending)}
        </>
      )}
      {until !== null && (
        <>
          , {rotateWords.rotating} <When at={until} />
        </>
      )}
      <WarningCount warnings={typeWarnings(webhook)} />
    </>
  );
}

/** Each with the type that it is about. */
function typeWarnings({ types, warnings }: Webhook): Webhook['warnings'] {
  return warnings.map(({ pointer, message }) => {
    const type = types[Number(pointer.slice('/types/'.length))] ?? '';
    return { pointer, message: `${type} ${message}` };
  });
}

/** On a phone, which has no column of states, with the state: a webhook that fails must not look healthy. */
function urlIn(webhook: Webhook) {
  return (
    <>
      {webhook.url}
      {isNarrow.value && (
        <div class="muted">
          <State webhook={webhook} />
        </div>
      )}
    </>
  );
}

function webhookColumns(acts: Omit<ActsProps, 'webhook'>): Column<Webhook>[] {
  const { url, types, state } = words.webhookColumns;
  return [
    { title: url, cell: urlIn, long: true },
    ...ownerColumns<Webhook>(),
    { title: types, cell: (webhook) => webhook.types.join(', ') || words.all, wrap: true, minor: true },
    { title: state, cell: (webhook) => <State webhook={webhook} />, text: true, minor: true },
    { title: words.acts, acts: true, cell: (webhook) => <Acts webhook={webhook} {...acts} /> },
  ];
}

interface ActsProps {
  webhook: Webhook;
  reload: () => Promise<void>;
  /** It has another secret, which is not shown again. */
  rotated: (secret: string) => Promise<void>;
}

function Acts({ webhook, ...acts }: ActsProps) {
  const deliveries = <a href={settingsAddress('webhooks', { webhook: webhook.id })}>{words.deliveries}</a>;
  if (!mayCallFor('testWebhook', webhook.team_id)) return <span class={page['actions']}>{deliveries}</span>;
  const test = async () => {
    await client.call('testWebhook', { path: { id: webhook.id } });
    tell(words.tested);
  };
  return (
    <RowActs more={<RareActs webhook={webhook} {...acts} />}>
      {deliveries}
      <Change webhook={webhook} reload={acts.reload} />
      <button type="button" onClick={() => act(test)}>
        {words.test}
      </button>
    </RowActs>
  );
}

function RareActs({ webhook, reload, rotated }: ActsProps) {
  const path = { id: webhook.id };
  const change = async (body: UpdateWebhookRequest) => {
    await client.call('updateWebhook', { path, body });
    await reload();
  };
  return (
    <>
      <RotateWebhook webhook={webhook} onRotated={rotated} />
      <button type="button" onClick={() => act(() => change({ active: !webhook.active }))}>
        {webhook.active ? words.turnOff : words.turnOn}
      </button>
      <MoveHeld
        by="updateWebhook"
        kind="webhook"
        name={webhook.url}
        record={webhook}
        onMove={(to) => change(to)}
      />
      <Removal
        title={words.deleteWebhook}
        text={words.deleteWebhookText(webhook.url)}
        onAct={async () => {
          await client.call('deleteWebhook', { path });
          await reload();
        }}
      />
    </>
  );
}

function Change({ webhook: { id, url, types, description }, reload }: Omit<ActsProps, 'rotated'>) {
  return (
    <FormDialog
      id={`webhook-${id}`}
      button={words.edit}
      title={words.editWebhook}
      submit={words.save}
      schema={schema}
      values={{ url, types, description }}
      onSubmit={async (body) => {
        await client.call('updateWebhook', { path: { id }, body });
        await reload();
      }}
    />
  );
}

function Deliveries({ id }: { id: string }) {
  const list = usePages(['deliveries', id], (cursor) =>
    client.page('listWebhookDeliveries', { path: { id }, query: { cursor: cursor ?? undefined } }),
  );
  const again = (delivery: string) =>
    act(async () => {
      await client.call('redeliverWebhookDelivery', { path: { id, delivery_id: delivery } });
      tell(words.redeliveredOne);
      await list.reload();
    });
  return (
    <>
      <a class={page['back']} href={settingsAddress('webhooks')}>
        ‹ {words.allWebhooks}
      </a>
      <div class={page['actions']}>
        <h2>{words.deliveries}</h2>
        {mayCallForAny('redeliverFailedWebhookDeliveries') && (
          <button
            type="button"
            onClick={() =>
              act(async () => {
                const answer = await client.call('redeliverFailedWebhookDeliveries', {
                  path: { id },
                  body: {},
                });
                tell(words.redelivered(answer.redelivered));
                await list.reload();
              })
            }
          >
            {words.redeliverFailed}
          </button>
        )}
        <button type="button" onClick={() => void list.reload()}>
          {words.readAgain}
        </button>
      </div>
      <ListState list={list} empty={<p>{words.noDeliveries}</p>}>
        <Table
          label={words.deliveries}
          columns={deliveryColumns(again)}
          records={list.items.value}
          keyOf={(delivery: Delivery) => delivery.id}
        />
      </ListState>
    </>
  );
}

function deliveryColumns(again: (id: string) => void): Column<Delivery>[] {
  const { type, status, answer, attempts, at } = words.deliveryColumns;
  return [
    { title: type, cell: (delivery) => delivery.type },
    { title: status, cell: (delivery) => delivery.status },
    { title: answer, cell: ({ response_status: code, error }) => error ?? code ?? '–', text: true },
    { title: attempts, cell: (delivery) => delivery.attempts, minor: true, end: true },
    { title: at, cell: (delivery) => <When at={delivery.created_at} />, minor: true, end: true },
    {
      title: words.acts,
      acts: true,
      cell: (delivery) =>
        mayCallForAny('redeliverWebhookDelivery') && (
          <button type="button" onClick={() => again(delivery.id)}>
            {words.redeliver}
          </button>
        ),
    },
  ];
}
