import { canonicalJson } from '../../contracts/canonical-json.ts';
import { invalid, type FieldError } from '../errors.ts';
import { typeWarnings } from '../events/type-warnings.ts';
import { checkQuota } from '../quotas/check.ts';
import { resolveSecret } from '../secrets/service.ts';
import {
  createWebhook,
  findOwnWebhook,
  findOwnWebhooksByUrl,
  hasSecret,
  updateWebhook,
  type Webhook,
} from '../webhooks/service.ts';
import { isSecret } from '../webhooks/signature.ts';
import { unknownSecret, type Applier, type ApplyContext, type WebhookResource } from './resources.ts';

export const webhookApplier: Applier<WebhookResource, Webhook> = {
  // Two webhooks may have the same address.
  isNamed: false,
  find: ({ em, holder }, id) => findOwnWebhook(em, holder, id),
  async alike({ em, holder }, { url }) {
    const found = await findOwnWebhooksByUrl(em, holder, url);
    return found.map((state) => ({ id: state.id, state }));
  },
  async changes(context, webhook, resource) {
    await context.checkAddress(resource.url);
    const secret = await valueOf(context, resource);
    const names = (['url', 'types', 'description', 'active'] as const).filter(
      (name) => canonicalJson(resource[name]) !== canonicalJson(webhook[name]),
    );
    const same = secret === null || (await hasSecret(context.em, context.encryption, webhook.id, secret));
    return same ? names : [...names, 'secret'];
  },
  async create(context, resource) {
    const { em, actor, encryption, limits } = context;
    context.checkUnlimited();
    await context.checkAddress(resource.url);
    const secret = await valueOf(context, resource);
    if (secret === null) {
      const message = 'must be the placeholder <NAME> of a secret: a generated one could not be read';
      throw invalid([{ pointer: '/secret', code: 'required', message }]);
    }
    const { url, types, description, active } = resource;
    const { id } = await createWebhook(em, encryption, actor, {
      url,
      types,
      description,
      active,
      secret,
      team_id: context.teamId,
    });
    await checkQuota(em, limits, 'webhooks', context.holder);
    return id;
  },
  async update(context, webhook, resource) {
    context.checkUnlimited();
    const { url, types, description, active } = resource;
    const secret = (await valueOf(context, resource)) ?? undefined;
    const changes = { url, types, description, active, secret };
    if (await updateWebhook(context.em, context.encryption, webhook, changes)) context.due.add(webhook.id);
  },
  warnings(_context, applied) {
    const found = applied.map(({ id, resource }): [string, FieldError[]] => [
      id,
      typeWarnings(resource.types).map((warning) => ({ ...warning, code: 'unknown_event_type' })),
    ]);
    return Promise.resolve(new Map(found));
  },
  async archive(context, webhook) {
    context.checkUnlimited();
    if (webhook.active) await updateWebhook(context.em, context.encryption, webhook, { active: false });
  },
};

/** The value of the secret that the resource names; null if it names none. @throws 422 */
async function valueOf(
  { em, encryption, holder, teamId }: ApplyContext,
  { secret }: WebhookResource,
): Promise<string | null> {
  if (secret === null) return null;
  const value = await resolveSecret(em, encryption, holder, secret);
  if (value === null) throw invalid([unknownSecret({ teamId }, '/secret', secret)]);
  if (!isSecret(value)) {
    const message = `the value of ${secret} must be whsec_ followed by 24 to 64 bytes in base64`;
    throw invalid([{ pointer: '/secret', code: 'invalid_secret', message }]);
  }
  return value;
}
