import { invalid } from '../errors.ts';
import {
  createHook,
  deactivateHook,
  findOwnHook,
  findOwnHooksByName,
  hookAddress,
  updateHook,
  type Hook,
} from '../hooks/service.ts';
import { checkQuota } from '../quotas/check.ts';
import {
  existingSecrets,
  unknownSecret,
  type Applier,
  type ApplyContext,
  type HookResource,
} from './resources.ts';

const COMPARED = [
  'name',
  'scheme',
  'secret',
  'former_secret',
  'event_type',
  'tolerance_seconds',
  'active',
] as const;

export const hookApplier: Applier<HookResource, Hook> = {
  isNamed: true,
  find: ({ em, holder }, id) => findOwnHook(em, holder, id),
  async alike({ em, holder }, { name }) {
    const found = await findOwnHooksByName(em, holder, name);
    return found.map((state) => ({ id: state.id, state }));
  },
  async changes(context, hook, { fields }) {
    await checkSecrets(context, fields);
    const source = fields.source ?? hookAddress(context.baseUrl, hook.id);
    const names: string[] = COMPARED.filter((name) => fields[name] !== hook[name]);
    return source === hook.source ? names : [...names, 'source'];
  },
  async create(context, { fields }) {
    await checkSecrets(context, fields);
    const id = await createHook(context, context.actor, { ...fields, team_id: context.teamId });
    await checkQuota(context.em, context.limits, 'inbound_webhooks', context.holder);
    return id;
  },
  async update(context, hook, { fields }) {
    await updateHook(context, context.actor, hook, fields);
  },
  async archive({ em }, hook) {
    if (hook.active) await deactivateHook(em, hook);
  },
};

/** One that is turned off may name secrets that are gone. @throws 422 */
async function checkSecrets(context: ApplyContext, fields: HookResource['fields']): Promise<void> {
  if (!fields.active) return;
  const named = (['secret', 'former_secret'] as const).flatMap((key) => {
    const name = fields[key];
    return name === null ? [] : [{ key, name }];
  });
  const existing = await existingSecrets(
    context,
    named.map(({ name }) => name),
  );
  const missing = named.filter(({ name }) => !existing.has(name));
  if (missing.length > 0)
    throw invalid(missing.map(({ key, name }) => unknownSecret(context, `/${key}`, name)));
}
