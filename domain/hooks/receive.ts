/** Turns a call of an inbound webhook into a CloudEvent of the webhook's owner or team. */
import { CLOUD_EVENT_TYPE } from '../events/cloud-event.ts';
import { cutTo } from '../../contracts/cut-text.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { HookRefusal, HookScheme } from '../../contracts/hooks.ts';
import type { EntityManager } from '../../db/orm.ts';
import { holderOf } from '../auth/ownership.ts';
import { boundSource } from '../events/sources.ts';
import { acceptEvents, type Accepted, type InboundCloudEvent } from '../events/inbound.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { resolveSecret } from '../secrets/service.ts';
import type { Hook } from './service.ts';
import { refusalOf, requestId, secretProblem, textOf, type HookRequest } from './verify.ts';

export interface HookCall extends HookRequest {
  /** Without parameters. */
  contentType: string;
  /** Parsed JSON, the fields of a form, or text; undefined for an empty body. */
  data: unknown;
}

/** Slack asks once whether the address belongs to the receiver. */
export type Received =
  { accepted: Accepted; scheme: HookScheme } | { challenge: string } | { refused: HookRefusal };

/** So that the time to answer does not tell whether there is such a webhook. */
const NOBODY: Hook = {
  id: '',
  owner_id: '00000000-0000-0000-0000-000000000000',
  team_id: null,
  name: '',
  scheme: 'standard',
  secret: '',
  former_secret: null,
  source: '',
  event_type: null,
  tolerance_seconds: 0,
  active: false,
  last_received_at: null,
  last_refused_at: null,
  last_refusal: null,
  created_at: new Date(0),
  updated_at: new Date(0),
};

/** In the caller's transaction. The caller of a refused call must not learn the reason. */
export async function receiveCall(
  em: EntityManager,
  encryption: Encryption,
  hook: (Hook & { owner_active: boolean }) | null,
  call: HookCall,
): Promise<Received> {
  const known = hook ?? { ...NOBODY, owner_active: false };
  const names = [known.secret, known.former_secret].filter((name) => name !== null);
  const secrets: string[] = [];
  for (const name of names) {
    const secret = await resolveSecret(em, encryption, holderOf(known), name);
    // A secret may have been stored anew since the webhook was saved.
    if (secret !== null && secretProblem(known.scheme, secret) === null) secrets.push(secret);
  }
  const refused = refusalOf(known.scheme, call, {
    secrets: secrets.length > 0 ? secrets : [''],
    toleranceSeconds: known.tolerance_seconds,
    now: new Date(),
  });
  if (!known.active || !known.owner_active) return { refused: 'inactive' };
  if (secrets.length === 0) return { refused: 'no_secret' };
  if (refused !== null) return { refused };
  // The source may have been bound since the webhook was saved.
  const owner = { owner_id: holderOf(known), user_id: known.owner_id };
  if ((await boundSource(em, owner, [known.source])) !== null) return { refused: 'source_bound' };
  const challenge = textOf(call.data, 'challenge');
  if (known.scheme === 'slack' && textOf(call.data, 'type') === 'url_verification' && challenge !== null)
    return { challenge };
  const sender = { owner_id: holderOf(known), hook_id: known.id };
  const [accepted] = await acceptEvents(em, sender, [eventOf(known, call)]);
  if (!accepted) throw new Error('no event was stored');
  await em.execute('update inbound_hook set last_received_at = clock_timestamp() where id = ?', [known.id]);
  return { accepted, scheme: known.scheme };
}

const MAX_TYPE = 200;

function eventOf(hook: Hook, call: HookCall): InboundCloudEvent {
  const { data } = call;
  const id = requestId(hook.scheme, call, data);
  // Our own webhooks, and those of others that send CloudEvents: the event itself.
  const inner = call.contentType === CLOUD_EVENT_TYPE && isRecord(data) ? data : null;
  const type = hook.event_type ?? (inner && textOf(inner, 'type')) ?? NATIVE_TYPE[hook.scheme](call);
  return {
    specversion: '1.0',
    id,
    source: hook.source,
    type: cutTo(type.replaceAll(/\p{Cc}/gu, ''), MAX_TYPE) || `com.cadenza.hook.${hook.scheme}`,
    time: new Date().toISOString(),
    ...(data === undefined ? {} : { datacontenttype: call.contentType || 'application/octet-stream' }),
    ...dataOf(inner ? inner['data'] : data),
  };
}

function dataOf(data: unknown): Record<string, unknown> {
  if (data === undefined) return {};
  return Buffer.isBuffer(data) ? { data_base64: data.toString('base64') } : { data };
}

const NATIVE_TYPE: Readonly<Record<HookScheme, (call: HookCall) => string>> = {
  github({ header, data }) {
    const action = textOf(data, 'action');
    const event = header('x-github-event') || 'event';
    return `com.github.${event}${action === null ? '' : `.${action}`}`;
  },
  stripe: ({ data }) => `com.stripe.${textOf(data, 'type') ?? 'event'}`,
  slack({ data }) {
    const event = isRecord(data) ? textOf(data['event'], 'type') : null;
    return `com.slack.${event ?? textOf(data, 'type') ?? 'request'}`;
  },
  standard: ({ data }) => textOf(data, 'type') ?? 'com.standardwebhooks.event',
};
