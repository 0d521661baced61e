/** The form that binds the secrets of an item to own ones. */
import type { MarketplaceInstallPlan } from '../../../../client/index.ts';
import type { Schema } from '../../ui/schema-form/fields.ts';
import { words } from './words.ts';

/** Configurations of agents name secrets of upper-case letters, digits and underscores only. */
const IN_CONFIGURATIONS = /^[A-Z][A-Z0-9_]*$/;

type BoundSecret = MarketplaceInstallPlan['secrets'][number];

/** Whether an own secret of this name can be bound. */
export function fits(kind: 'agent' | 'workflow', { agent }: BoundSecret, own: string): boolean {
  return (kind === 'workflow' && agent === null) || IN_CONFIGURATIONS.test(own);
}

/** One choice for each secret. None is required: what is not bound now is bound in the copy later. */
export function bindingSchema(
  kind: 'agent' | 'workflow',
  secrets: readonly BoundSecret[],
  names: readonly string[],
): Schema {
  const choice = (secret: BoundSecret): Schema => {
    const { name, agent } = secret;
    return {
      title: agent === null ? name : words.secretOf(agent, name.slice(agent.length + 1)),
      oneOf: names.filter((own) => fits(kind, secret, own)).map((own) => ({ const: own, title: own })),
    };
  };
  return {
    type: 'object',
    properties: Object.fromEntries(secrets.map((secret) => [secret.name, choice(secret)])),
  };
}
