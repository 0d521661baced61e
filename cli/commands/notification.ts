/** What you were told of human tasks, and how you want to be told. */
import { buildRouteMap } from '@stricli/core';

import type { Notification, NotificationChannel, NotificationSettings } from '../../client/index.ts';
import { OPTIONAL_MAIL_KINDS } from '../../contracts/account-mails.ts';
import { CHAT_FORMATS, NOTIFICATION_KINDS } from '../../contracts/notification-kinds.ts';
import { argument, command, optional, type Context } from '../core/command.ts';
import { CliError, usageError } from '../core/errors.ts';
import { choice, flag, text } from '../core/flags.ts';
import { confirm, readRecord, readSecret } from '../core/input.ts';
import { collect, listFlags, pageOf, viewOf } from '../core/lists.ts';
import { ofTeam, personId, workflowId } from '../core/names.ts';
import type { View } from '../core/table.ts';
import { ago } from '../core/text.ts';

const notificationView: View<Notification> = {
  columns: [
    ['id', ({ id }) => id],
    ['what', ({ kind, read_at: at }) => (at === null ? `${kind} (new)` : kind)],
    ['task', ({ task }) => task.id],
    ['status', ({ task }) => task.status],
    ['when', (one) => ago(one.created_at)],
    ['from', ({ actor }) => actor?.display_name],
    ['in place of', ({ in_place_of: absent }) => absent?.display_name],
    ['title', ({ task }) => task.title],
  ],
  name: ({ id }) => id,
  none: 'No notifications.',
};

const list = command({
  brief: 'List your notifications, newest first',
  flags: {
    ...listFlags,
    unread: flag('Only those that you have not read'),
    kind: choice('Only these', NOTIFICATION_KINDS),
  },
  run: async (cli, { unread, kind, ...flags }) => {
    await cli.requireLogIn();
    const query = { unread, kind, ...pageOf(flags) };
    const items = cli.client.items('listNotifications', { query, signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), viewOf(notificationView, { unread, kind }));
  },
});

const count = command({
  brief: 'Print how many notifications you have not read; 100 means that many or more',
  hasData: false,
  run: async (cli) => {
    await cli.requireLogIn();
    const { unread } = await cli.client.call('getNotificationSummary', { signal: cli.signal });
    cli.out.text(String(unread));
  },
});

const read = command({
  brief: 'Mark a notification as read, or with --all all of them',
  flags: { all: flag('All of them') },
  arguments: [optional('NOTIFICATION', 'Id from cadenza notification list')],
  hasData: false,
  run: async (cli, { all }, id) => {
    if ((all === true) === (id !== undefined)) throw usageError('Give a NOTIFICATION or --all.');
    const newest = { query: { limit: 1 }, signal: cli.signal };
    const upTo = id === undefined ? (await cli.client.page('listNotifications', newest)).items[0]?.id : null;
    if (upTo === undefined) return;
    const body = id === undefined ? { up_to: upTo ?? '' } : { ids: [id] };
    const { unread } = await cli.client.call('markNotificationsRead', { body, signal: cli.signal });
    cli.say(`${unread} left.`);
  },
});

const settingsView: View<NotificationSettings> = {
  columns: [
    ['mail off for', ({ mail }) => offIn(mail)],
    ['chat off for', ({ chat }) => offIn(chat)],
    [
      'digest',
      ({ digest = 'off', digest_at: at }) => (digest === 'daily' ? `daily at ${at ?? '08:00'}` : digest),
    ],
    ['quiet', ({ quiet_hours: quiet }) => (quiet ? `${quiet.from} to ${quiet.to}` : null)],
    ['time zone', (settings) => settings.time_zone ?? settings.default_time_zone],
    ['mail', ({ mail_available: isAvailable }) => (isAvailable ? 'yes' : 'not set up')],
  ],
  name: () => 'settings',
};

const offIn = (kinds: NotificationSettings['mail']): string[] =>
  [...NOTIFICATION_KINDS, ...OPTIONAL_MAIL_KINDS].filter((kind) => kinds?.[kind] === false);

const settings = command({
  brief: 'Show how you are told',
  run: async (cli) => {
    await cli.requireLogIn();
    const found = await cli.client.call('getNotificationSettings', { signal: cli.signal });
    await cli.out.record(found, settingsView);
  },
});

const choose = command({
  brief: 'Choose how you are told; replaces all settings',
  details:
    'FILE has what `cadenza notification settings -o json` shows: `{"mail": {"reminder": false}, ' +
    '"digest": "daily", "time_zone": "Europe/Paris"}`.',
  arguments: [argument('FILE', 'JSON or YAML; - for standard input')],
  run: async (cli, _flags, file) => {
    const body = await readRecord(cli, file);
    const changed = await cli.client.call('putNotificationSettings', { body, signal: cli.signal });
    await cli.out.record(changed, settingsView);
  },
});

const chatView: View<NotificationChannel> = {
  columns: [
    ['id', ({ id }) => id],
    ['name', ({ name }) => name],
    ['chat', ({ format }) => format],
    [
      'tells of',
      ({ group, team_id: team, workflow_id: workflow }) => group ?? team ?? workflow ?? 'your tasks',
    ],
    [
      'active',
      ({ active, silent, last_error: error }) =>
        active ? (silent === null ? 'yes' : `yes, but ${silent}`) : `no ${error ?? ''}`,
    ],
    ['kinds', ({ kinds }) => kinds],
  ],
  name: ({ id }) => id,
  none: 'No chats.',
};

const chats = command({
  brief: 'List the chats that are told of human tasks',
  flags: listFlags,
  run: async (cli, flags) => {
    await cli.requireLogIn();
    const items = cli.client.items('listNotificationChannels', { query: pageOf(flags), signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), chatView);
  },
});

const addChat = command({
  brief: 'Have a chat told of human tasks; its webhook address is read from standard input',
  flags: {
    group: text('Tell it of the tasks of this group; for admins', 'GROUP'),
    team: text('Tell it of the tasks of this team and of its workflows; for admins of the team', 'TEAM'),
    workflow: text('Tell it of the tasks of this workflow', 'WORKFLOW'),
    kinds: text(`Only these, separated by commas: ${NOTIFICATION_KINDS.join(', ')}`, 'KINDS'),
  },
  arguments: [argument('NAME', 'A name for it'), argument('CHAT', CHAT_FORMATS.join(', '))],
  run: async (cli, { group, team, workflow, kinds }, name, format) => {
    const known = CHAT_FORMATS.find((one) => one === format);
    if (known === undefined) throw usageError(`CHAT is one of ${CHAT_FORMATS.join(', ')}.`);
    const wanted = kinds?.split(',');
    const body = {
      name,
      format: known,
      url: (await readSecret(cli)).trim(),
      group: group ?? null,
      workflow_id: workflow === undefined ? null : await workflowId(cli, workflow),
      ...(await ofTeam(cli, team)),
      kinds: wanted === undefined ? null : NOTIFICATION_KINDS.filter((kind) => wanted.includes(kind)),
    };
    await cli.out.record(
      await cli.client.call('createNotificationChannel', { body, signal: cli.signal }),
      chatView,
    );
  },
});

const CHAT = argument('CHAT', 'Id from cadenza notification chats');

const setChat = command({
  brief: 'Turn a chat on or off, rename it, or move it to another person',
  flags: {
    name: text('Its new name', 'NAME'),
    on: flag('Tell it again'),
    off: flag('Tell it nothing'),
    owner: text('The person who gets it; for admins', 'USER'),
  },
  arguments: [CHAT],
  run: async (cli, { name, on, off, owner }, id) => {
    if (on === true && off === true) throw usageError('Choose one of --on and --off.');
    const body = {
      ...(name === undefined ? {} : { name }),
      ...(on === true || off === true ? { active: on === true } : {}),
      ...(owner === undefined ? {} : { owner_id: await personId(cli, owner) }),
    };
    if (Object.keys(body).length === 0) throw usageError('Give a flag with what changes.');
    await cli.out.record(
      await cli.client.call('updateNotificationChannel', { path: { id }, body, signal: cli.signal }),
      chatView,
    );
  },
});

const removeChat = command({
  brief: 'Remove a chat',
  flags: { yes: flag('Do not ask') },
  arguments: [CHAT],
  hasData: false,
  run: async (cli, { yes }, id) => {
    await confirm(cli, `Remove chat ${id}?`, yes);
    await cli.client.call('deleteNotificationChannel', { path: { id }, signal: cli.signal });
    cli.say(`Removed chat ${id}.`);
  },
});

const testChat = command({
  brief: 'Send a test message to a chat',
  arguments: [CHAT],
  hasData: false,
  run: async (cli, _flags, id) => {
    const options = { path: { id }, body: {}, signal: cli.signal };
    const { error } = await cli.client.call('testNotificationChannel', options);
    if (error !== null) throw new CliError(`The chat did not take it: ${error}`, { code: 'not_sent' });
    cli.say('Sent.');
  },
});

const testMail = command({
  brief: 'Send a test mail to yourself; for admins',
  hasData: false,
  run: async (cli) => {
    const { to, error } = await cli.client.call('sendTestMail', { body: {}, signal: cli.signal });
    if (error !== null) throw new CliError(`The mail server did not take it: ${error}`, { code: 'not_sent' });
    cli.say(`Sent to ${to}.`);
  },
});

const routes = {
  list,
  count,
  read,
  settings,
  choose,
  chats,
  addChat,
  setChat,
  removeChat,
  testChat,
  testMail,
};

export const notificationCommands = buildRouteMap<keyof typeof routes, Context>({
  routes,
  docs: { brief: 'Notifications of human tasks: in the list, by mail, by chat' },
});
