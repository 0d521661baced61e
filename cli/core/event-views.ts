/** How what receives and sends events is shown. */
import type { EventSource, InboundWebhook, Webhook } from '../../client/index.ts';
import type { View } from './table.ts';
import { ago, oneLine } from './text.ts';

export const webhookView: View<Webhook> = {
  columns: [
    ['id', ({ id }) => id],
    ['active', ({ active, disabled_reason: reason }) => (active ? 'yes' : `no ${reason ?? ''}`)],
    ['types', ({ types }) => (types.length === 0 ? 'all' : types)],
    ['url', ({ url }) => url],
    [
      'failing',
      ({ failing_since: since, pending, last_error: error }) =>
        since && `since ${ago(since)}, ${pending} waiting: ${oneLine(error ?? '')}`,
    ],
  ],
  name: ({ id }) => id,
  none: 'No webhooks.',
};

export const hookView: View<InboundWebhook> = {
  columns: [
    ['id', ({ id }) => id],
    ['name', ({ name }) => oneLine(name)],
    ['scheme', ({ scheme }) => scheme],
    ['secret', ({ secret, former_secret: former }) => (former === null ? secret : `${secret}, ${former}`)],
    ['active', ({ active }) => (active ? 'yes' : 'no')],
    ['last call', ({ last_received_at: at }) => (at === null ? 'never' : ago(at))],
    ['last refusal', (hook) => hook.last_refusal && `${hook.last_refusal}, ${ago(hook.last_refused_at)}`],
    ['source', ({ source, url }) => (source === url ? '' : oneLine(source))],
    ['url', ({ url }) => url],
  ],
  name: ({ id }) => id,
  none: 'No inbound webhooks.',
};

export const sourceView: View<EventSource> = {
  columns: [
    ['id', ({ id }) => id],
    ['source', ({ source }) => oneLine(source)],
    ['only from', (source) => source.client_id ?? source.user_name ?? source.user_id ?? 'anyone of yours'],
    ['shared with', (source) => source.shared_with],
    ['description', ({ description }) => description],
  ],
  name: ({ id }) => id,
  none: 'No sources.',
};
