/** Chats that are told of human tasks. */
import type { CreateNotificationChannelRequest, NotificationChannel } from '../../../../client/index.ts';
import { CHAT_FORMATS, NOTIFICATION_KINDS } from '../../../../contracts/notification-kinds.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { mayCall } from '../../data/session.ts';
import { teamName, teamsToManage } from '../../data/teams.ts';
import { useWorkflowChoices } from '../../data/workflow-choices.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import { detailOf } from '../../ui/problem.tsx';
import type { Schema } from '../../ui/schema-form/fields.ts';
import { Table, type Column } from '../../ui/table.tsx';
import { complain, tell } from '../../ui/toasts.tsx';
import { words } from './notification-words.ts';
import { Removal } from './removal.tsx';

const own = {
  name: { type: 'string', title: words.name, maxLength: 100 },
  format: { type: 'string', enum: [...CHAT_FORMATS], title: words.format },
  url: { type: 'string', format: 'password', title: words.url, description: words.urlHelp },
};
const kinds = {
  type: 'array',
  title: words.tells,
  minItems: 1,
  default: [...NOTIFICATION_KINDS],
  items: { oneOf: NOTIFICATION_KINDS.map((kind) => ({ const: kind, title: words.kinds[kind] })) },
};
const changes = {
  type: 'object',
  required: ['name'],
  properties: { name: own.name, url: { ...own.url, description: words.urlKept }, kinds },
};
const ofGroup = { group: { type: 'string', title: words.group, description: words.groupHelp } };

export function Chats() {
  const list = usePages(['notification channels'], (cursor) =>
    client.page('listNotificationChannels', { query: { cursor: cursor ?? undefined } }),
  );
  const workflows = useWorkflowChoices();
  const create = async (body: Record<string, unknown>) => {
    // The form's schema is that of the request.
    await client.call('createNotificationChannel', { body: body as CreateNotificationChannelRequest });
    await list.reload();
  };
  return (
    <section class={page['part']}>
      <div class={page['actions']}>
        <h2>{words.chats}</h2>
        <FormDialog
          id="chat"
          button={words.newChat}
          title={words.newChat}
          help={words.chatsHelp}
          submit={words.create}
          schema={schemaOf(workflows)}
          onSubmit={create}
        />
      </div>
      <ListState list={list} empty={<p>{words.noChats}</p>}>
        <Table
          label={words.chats}
          columns={columns(workflows, () => list.reload())}
          records={list.items.value}
          keyOf={({ id }) => id}
        />
      </ListState>
    </section>
  );
}

type Workflows = ReturnType<typeof useWorkflowChoices>;

/** A chat is of one's own tasks, or of those of a workflow, a team or a group. */
function schemaOf(workflows: Workflows): Schema {
  const changed = workflows.filter(({ can }) => can.includes('update'));
  return {
    type: 'object',
    required: ['name', 'format', 'url'],
    properties: {
      ...own,
      ...choiceOf('workflow_id', words.workflow, words.workflowHelp, changed),
      ...choiceOf('team_id', words.team, words.teamHelp, teamsToManage()),
      ...(mayCall('listUsers') ? ofGroup : {}),
      kinds,
    },
  };
}

/** Nothing without anything to choose from. */
function choiceOf(
  field: string,
  title: string,
  description: string,
  named: readonly { id: string; name: string }[],
): Record<string, Schema> {
  if (named.length === 0) return {};
  return {
    [field]: { title, description, oneOf: named.map(({ id, name }) => ({ const: id, title: name })) },
  };
}

function ofWhat(
  { group, team_id: team, workflow_id: id }: NotificationChannel,
  workflows: Workflows,
): string {
  if (group !== null) return words.ofGroup(group);
  if (team !== null) return words.ofTeam(teamName(team));
  if (id !== null) return words.ofWorkflow(workflows.find((one) => one.id === id)?.name ?? id);
  return words.ownTasks;
}

const columns = (workflows: Workflows, reload: () => Promise<void>): Column<NotificationChannel>[] => [
  { title: words.name, cell: ({ name }) => name },
  { title: words.format, cell: ({ format }) => format, minor: true },
  { title: words.of, cell: (chat) => ofWhat(chat, workflows), minor: true },
  {
    title: words.state,
    cell: ({ active, silent, last_error: error }) => {
      if (!active) return words.isOff(error);
      return silent === null ? words.isOn : words.isSilent[silent];
    },
  },
  { title: words.acts, acts: true, cell: (chat) => <Acts chat={chat} reload={reload} /> },
];

function Acts({ chat, reload }: { chat: NotificationChannel; reload: () => Promise<void> }) {
  const path = { id: chat.id };
  const act = (action: () => Promise<void>) => () =>
    void action().catch((error: unknown) => complain(detailOf(error)));
  const test = async () => {
    const { sent, error } = await client.call('testNotificationChannel', { path, body: {} });
    if (sent) tell(words.sent);
    else complain(error ?? '');
  };
  const turn = async () => {
    await client.call('updateNotificationChannel', { path, body: { active: !chat.active } });
    await reload();
  };
  return (
    <span class={page['actions']}>
      {chat.active && (
        <button type="button" onClick={act(test)}>
          {words.test}
        </button>
      )}
      <FormDialog
        id={`chat-${chat.id}`}
        button={words.edit}
        title={words.editChat}
        submit={words.save}
        schema={changes}
        values={{ name: chat.name, kinds: chat.kinds }}
        onSubmit={async (body) => {
          await client.call('updateNotificationChannel', { path, body });
          await reload();
        }}
      />
      <button type="button" onClick={act(turn)}>
        {chat.active ? words.off : words.on}
      </button>
      <Removal
        title={words.remove}
        text={words.removeText}
        onAct={async () => {
          await client.call('deleteNotificationChannel', { path });
          await reload();
        }}
      />
    </span>
  );
}
