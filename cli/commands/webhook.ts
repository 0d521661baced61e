/** Webhooks and their deliveries. */
import { buildRouteMap } from '@stricli/core';

import type { Delivery, NewWebhook, UpdateWebhookRequest } from '../../client/index.ts';
import { sayWarnings } from '../core/agents.ts';
import { argument, command, optional, type Context } from '../core/command.ts';
import { usageError } from '../core/errors.ts';
import { webhookView } from '../core/event-views.ts';
import { choice, flag, refuseFlags, seconds, sets, text } from '../core/flags.ts';
import { confirm, readSecret } from '../core/input.ts';
import { collect, listFlags, ownerFlag, pageOf } from '../core/lists.ts';
import { ofOwner, ofTeam } from '../core/names.ts';
import type { View } from '../core/table.ts';
import { ago } from '../core/text.ts';

const WEBHOOK = argument('WEBHOOK', 'Id of a webhook', 'webhook');

const deliveryView: View<Delivery> = {
  columns: [
    ['id', ({ id }) => id],
    ['status', ({ status }) => status],
    ['attempts', ({ attempts }) => attempts],
    ['answer', (delivery) => delivery.response_status ?? delivery.error],
    ['created', (delivery) => ago(delivery.created_at)],
    ['type', ({ type }) => type],
  ],
  name: ({ id }) => id,
  none: 'No deliveries.',
};

const newWebhookView: View<NewWebhook> = {
  columns: [
    ...webhookView.columns,
    ['secret', ({ secret }) => secret],
    ['former secret until', ({ former_secret_until: until }) => until],
  ],
  name: ({ id }) => id,
};

const list = command({
  brief: 'List your webhooks and those of your teams; admins see those of all users',
  flags: { ...listFlags, team: text('Of this team', 'TEAM'), owner: ownerFlag },
  run: async (cli, { team, owner, ...flags }) => {
    await cli.requireLogIn();
    const query = { ...pageOf(flags), ...(await ofTeam(cli, team)), ...(await ofOwner(cli, owner)) };
    await cli.out.list(
      await collect(cli, cli.client.items('listWebhooks', { query, signal: cli.signal }), flags),
      webhookView,
    );
  },
});

const create = command({
  brief: 'Create a webhook; its secret is shown once',
  flags: {
    types: text('Event types, separated by commas, such as io.cadenza.hitl; default: all', 'TYPES'),
    description: text('What it is for', 'TEXT'),
    team: text("For this team: the events of the team's runs", 'TEAM'),
  },
  arguments: [sets(argument('URL', 'Where events are sent'), 'url')],
  run: async (cli, { types, description, team }, url) => {
    const held = await ofTeam(cli, team);
    const body = { url, types: types?.split(',') ?? null, description: description ?? null, ...held };
    const created = await cli.client.call('createWebhook', { body, signal: cli.signal });
    sayWarnings(cli, created);
    await cli.out.record(created, newWebhookView);
  },
});

const get = command({
  brief: 'Show a webhook',
  arguments: [WEBHOOK],
  run: async (cli, _flags, id) => {
    const found = await cli.client.call('getWebhook', { path: { id }, signal: cli.signal });
    await cli.out.record(found, webhookView);
  },
});

const update = command({
  brief: 'Change a webhook: where it sends, what, and whether; its deliveries stay',
  flags: {
    url: text('Where events are sent', 'URL'),
    types: text('Event types, separated by commas; all for every type', 'TYPES'),
    description: text('What it is for', 'TEXT'),
    secretStdin: flag('Read a new secret from standard input'),
    on: flag('Send events; deliveries that wait are tried again'),
    off: flag('Send no events'),
  },
  arguments: [WEBHOOK],
  run: async (cli, { url, types, description, secretStdin, on, off }, id) => {
    if (on === true && off === true) throw usageError('Choose one of --on and --off.');
    const body: UpdateWebhookRequest = {
      ...(url === undefined ? {} : { url }),
      ...(types === undefined ? {} : { types: types === 'all' ? null : types.split(',') }),
      ...(description === undefined ? {} : { description }),
      ...(secretStdin === true ? { secret: await readSecret(cli) } : {}),
      ...(on === true || off === true ? { active: on === true } : {}),
    };
    if (Object.keys(body).length === 0) throw usageError('Give a flag with what changes.');
    const changed = await cli.client.call('updateWebhook', { path: { id }, body, signal: cli.signal });
    sayWarnings(cli, changed);
    await cli.out.record(changed, webhookView);
  },
});

const remove = command({
  brief: 'Delete a webhook',
  flags: { yes: flag('Do not ask') },
  arguments: [WEBHOOK],
  hasData: false,
  run: async (cli, { yes }, id) => {
    await confirm(cli, `Delete webhook ${id}?`, yes);
    await cli.client.call('deleteWebhook', { path: { id }, signal: cli.signal });
    cli.say(`Deleted webhook ${id}.`);
  },
});

const rotateSecret = command({
  brief: 'Give a webhook a new secret, which is shown once; the former one signs too for a while',
  flags: {
    former: sets(
      seconds('How long the former secret signs too, at most 7d; 0: no more. Default: 1d'),
      'former_secret_seconds',
    ),
  },
  arguments: [WEBHOOK],
  run: async (cli, { former }, id) => {
    const path = { id };
    const { etag } = await cli.client.tagged('getWebhook', { path, signal: cli.signal });
    // Of two rotations at once, the second would forget the secret of the first.
    const headers = etag === null ? {} : { 'if-match': etag };
    const body = former === undefined ? {} : { former_secret_seconds: former };
    await cli.out.record(
      await cli.client.call('rotateWebhookSecret', { path, body, headers, signal: cli.signal }),
      newWebhookView,
    );
  },
});

const test = command({
  brief: 'Send a test event to a webhook',
  arguments: [WEBHOOK],
  run: async (cli, _flags, id) => {
    await cli.out.record(
      await cli.client.call('testWebhook', { path: { id }, signal: cli.signal }),
      deliveryView,
    );
  },
});

const deliveries = command({
  brief: 'List the deliveries of a webhook, newest first',
  flags: { ...listFlags, status: choice('Only these', ['pending', 'delivered', 'failed']) },
  arguments: [WEBHOOK],
  run: async (cli, { status, ...flags }, id) => {
    const items = cli.client.items('listWebhookDeliveries', {
      path: { id },
      query: { status, ...pageOf(flags) },
      signal: cli.signal,
    });
    await cli.out.list(await collect(cli, items, flags), deliveryView);
  },
});

const delivery = command({
  brief: 'Show a delivery with the body that is sent',
  arguments: [WEBHOOK, argument('DELIVERY', 'Id of a delivery')],
  run: async (cli, _flags, id, one) => {
    const path = { id, delivery_id: one };
    await cli.out.value(await cli.client.call('getWebhookDelivery', { path, signal: cli.signal }));
  },
});

const redeliver = command({
  brief: 'Send a delivery again, or with --failed all that were given up',
  details: 'With --failed at most 1,000, oldest first: those that have not arrived since.',
  flags: {
    failed: flag('All failed deliveries'),
    since: text('With --failed: only those after this time, such as 2027-01-31T18:00:00Z', 'TIME'),
  },
  arguments: [WEBHOOK, optional('DELIVERY', 'Id of a delivery')],
  run: async (cli, { failed, since }, id, one) => {
    if ((failed === true) === (one !== undefined)) throw usageError('Give a DELIVERY or --failed.');
    if (one === undefined) {
      const body = since === undefined ? {} : { since };
      const counted = await cli.client.call('redeliverFailedWebhookDeliveries', {
        path: { id },
        body,
        idempotencyKey: crypto.randomUUID(),
        signal: cli.signal,
      });
      await cli.out.record(counted, {
        columns: [['redelivered', ({ redelivered }) => redelivered]],
        name: ({ redelivered }) => String(redelivered),
      });
      return;
    }
    refuseFlags({ since }, ['since'], 'without --failed');
    const path = { id, delivery_id: one };
    const again = await cli.client.call('redeliverWebhookDelivery', { path, signal: cli.signal });
    await cli.out.record(again, deliveryView);
  },
});

const routes = {
  list,
  get,
  create,
  update,
  delete: remove,
  rotateSecret,
  test,
  deliveries,
  delivery,
  redeliver,
};

export const webhookCommands = buildRouteMap<keyof typeof routes, Context>({
  routes,
  docs: { brief: 'Webhooks and their deliveries' },
});
