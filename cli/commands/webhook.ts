/** Webhooks and their deliveries. */
import { buildRouteMap } from '@stricli/core';

import type { Delivery, Webhook } from '../../client/index.ts';
import { argument, command, type Context } from '../core/command.ts';
import { choice, flag, text } from '../core/flags.ts';
import { confirm } from '../core/input.ts';
import { collect, listFlags, pageOf } from '../core/lists.ts';
import type { View } from '../core/table.ts';
import { ago } from '../core/text.ts';

const WEBHOOK = argument('WEBHOOK', 'Id of a webhook', 'webhook');

const webhookView: View<Webhook> = {
  columns: [
    ['id', ({ id }) => id],
    ['active', ({ active, disabled_reason: reason }) => (active ? 'yes' : `no ${reason ?? ''}`)],
    ['types', ({ types }) => (types.length === 0 ? 'all' : types)],
    ['url', ({ url }) => url],
  ],
  name: ({ id }) => id,
  none: 'No webhooks.',
};

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

const list = command({
  brief: 'List your webhooks',
  flags: listFlags,
  run: async (cli, flags) => {
    await cli.requireLogIn();
    await cli.out.list(
      await collect(
        cli,
        cli.client.items('listWebhooks', { query: pageOf(flags), signal: cli.signal }),
        flags,
      ),
      webhookView,
    );
  },
});

const create = command({
  brief: 'Create a webhook; its secret is shown once',
  flags: {
    types: text('Event types, separated by commas, such as io.cadenza.hitl; default: all', 'TYPES'),
    description: text('What it is for', 'TEXT'),
  },
  arguments: [argument('URL', 'Where events are sent')],
  run: async (cli, { types, description }, url) => {
    const body = { url, types: types?.split(',') ?? null, description: description ?? null };
    await cli.out.record(await cli.client.call('createWebhook', { body, signal: cli.signal }), {
      columns: [...webhookView.columns, ['secret', ({ secret }) => secret]],
      name: ({ id }) => id,
    });
  },
});

const remove = command({
  brief: 'Delete a webhook',
  flags: { yes: flag('Do not ask') },
  arguments: [WEBHOOK],
  run: async (cli, { yes }, id) => {
    await confirm(cli, `Delete webhook ${id}?`, yes);
    await cli.client.call('deleteWebhook', { path: { id }, signal: cli.signal });
    cli.say(`Deleted webhook ${id}.`);
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

const redeliver = command({
  brief: 'Send a delivery again',
  arguments: [WEBHOOK, argument('DELIVERY', 'Id of a delivery')],
  run: async (cli, _flags, id, delivery) => {
    const path = { id, delivery_id: delivery };
    const again = await cli.client.call('redeliverWebhookDelivery', { path, signal: cli.signal });
    await cli.out.record(again, deliveryView);
  },
});

const routes = { list, create, delete: remove, test, deliveries, redeliver };

export const webhookCommands = buildRouteMap<keyof typeof routes, Context>({
  routes,
  docs: { brief: 'Webhooks and their deliveries' },
});
