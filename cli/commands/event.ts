/** Events that are sent in, and who may send them. */
import { randomUUID } from 'node:crypto';
import { buildRouteMap } from '@stricli/core';

import type { AcceptedEvent, CloudEvent, ListedReceivedEvent, ReceivedEvent } from '../../client/index.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { argument, command, type Context } from '../core/command.ts';
import { usageError } from '../core/errors.ts';
import { refuseFlags, text } from '../core/flags.ts';
import { parseDocument, readDocument } from '../core/input.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import { ofTeam } from '../core/names.ts';
import type { View } from '../core/table.ts';
import { ago, oneLine } from '../core/text.ts';
import { allow, bind, disallow, senders, sources, unbind } from './event-sources.ts';

const acceptedView: View<AcceptedEvent> = {
  columns: [
    ['id', ({ id }) => id],
    ['source', ({ source }) => oneLine(source)],
    ['event', (event) => oneLine(event.event_id)],
    ['type', ({ type }) => oneLine(type)],
    ['new', ({ duplicate }) => (duplicate ? 'no, it was there' : 'yes')],
  ],
  name: ({ id }) => id,
  none: 'No events.',
};

const receivedView: View<ListedReceivedEvent | ReceivedEvent> = {
  columns: [
    ['id', ({ id }) => id],
    ['received', (event) => ago(event.received_at)],
    ['type', ({ type }) => oneLine(type)],
    ['source', ({ source }) => oneLine(source)],
    ['event', (event) => oneLine(event.event_id)],
  ],
  name: ({ id }) => id,
  none: 'No events.',
};

const send = command({
  brief: 'Send an event in; without an id it gets a new one',
  flags: {
    type: text('Type, such as order.paid', 'TYPE'),
    source: text('Source; default: cadenza-cli', 'URI'),
    id: text('Id: the same source and id count once', 'ID'),
    subject: text('Subject', 'TEXT'),
    data: text('Data as JSON or YAML', 'JSON'),
    file: text('A CloudEvent or a list of them, as JSON or YAML; - is standard input', 'FILE'),
    team: text('For the workflows of this team', 'TEAM'),
  },
  run: async (cli, { file, team, ...fields }) => {
    const { type, source, id, subject, data } = fields;
    if (type === undefined && file === undefined) throw usageError('Give --type or --file.');
    if (file !== undefined)
      refuseFlags(fields, ['type', 'source', 'id', 'subject', 'data'], 'together with --file');
    const given = file === undefined ? null : await readDocument(cli, file);
    const own = {
      type,
      source: source ?? 'cadenza-cli',
      id: id ?? randomUUID(),
      ...(subject === undefined ? {} : { subject }),
      ...(data === undefined ? {} : { data: await parseDocument(data, '--data') }),
    };
    const accepted: AcceptedEvent[] = [];
    const query = await ofTeam(cli, team);
    for (const event of given === null ? [own] : [given].flat()) {
      // The server checks it.
      const body = { specversion: '1.0', ...(isRecord(event) ? event : {}) } as CloudEvent;
      accepted.push(...[await cli.client.call('publishEvent', { query, body, signal: cli.signal })].flat());
    }
    await cli.out.list(accepted, acceptedView);
  },
});

const list = command({
  brief: 'List the events that were sent in or emitted, newest first',
  flags: {
    ...listFlags,
    type: text('Only this type', 'TYPE'),
    source: text('Only this source', 'URI'),
    since: text('Only those received after this time', 'TIME'),
    until: text('Only those received before this time', 'TIME'),
    team: text('Those of this team, instead of your own', 'TEAM'),
  },
  run: async (cli, { type, source, since, until, team, ...flags }) => {
    await cli.requireLogIn();
    const held = await ofTeam(cli, team);
    const query = { type, source, received_after: since, received_before: until, ...held, ...pageOf(flags) };
    const items = cli.client.items('listReceivedEvents', { query, signal: cli.signal });
    await cli.out.list(await collect(cli, items, flags), receivedView);
  },
});

const get = command({
  brief: 'Show an event with its data',
  arguments: [argument('EVENT', 'Id from cadenza event list')],
  run: async (cli, _flags, id) => {
    const event = await cli.client.call('getReceivedEvent', { path: { id }, signal: cli.signal });
    await cli.out.record(event, {
      ...receivedView,
      columns: [...receivedView.columns, ['data', ({ event: whole }) => JSON.stringify(whole?.data ?? null)]],
    });
  },
});

const routes = { send, list, get, sources, bind, unbind, senders, allow, disallow };

export const eventCommands = buildRouteMap<keyof typeof routes, Context>({
  routes,
  docs: { brief: 'Events that are sent in' },
});
