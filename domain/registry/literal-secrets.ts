/** Literal secrets in a configuration are moved to the owner's store on save; the record keeps a placeholder (interface-decisions §3). */
import { isSecretKey } from '../../contracts/agent-configuration.ts';
import { placeholderNames, unboundName } from '../../contracts/placeholders.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { putSecret } from '../secrets/service.ts';

type JsonObject = Record<string, unknown>;

export interface SecretMover {
  /** A copy of a `configuration` or `authentication_config` with its literal secrets replaced by placeholders. */
  move<T extends JsonObject | null>(config: T, part: 'configuration' | 'authentication_config'): Promise<T>;
}

/** Secrets go to the agent's owner, whoever saves it. */
export function createSecretMover(em: EntityManager, encryption: Encryption, agent: { id: string; owner_id: string }): SecretMover {
  const counters = new Map<string, number>();

  const store = async (key: string, value: string): Promise<string> => {
    const stem = `${prefixOf(agent.id)}${key.toUpperCase().replaceAll('-', '_')}_`;
    const count = (counters.get(stem) ?? (await highest(em, agent.owner_id, stem))) + 1;
    counters.set(stem, count);
    await putSecret(em, encryption, agent.owner_id, { name: `${stem}${count}`, value });
    return `<${stem}${count}>`;
  };

  const walk = async (value: unknown, key: string, path: readonly string[]): Promise<unknown> => {
    if (typeof value === 'string') return isSecretKey(key) && isLiteral(value, path) ? store(key, value) : value;
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      for (const item of value) items.push(await walk(item, key, path));
      return items;
    }
    const entries: [string, unknown][] = [];
    for (const [name, item] of Object.entries(value)) entries.push([name, await walk(item, name, [...path, name])]);
    return Object.fromEntries(entries);
  };

  return {
    async move(config, part) {
      // The shape is kept: only strings are replaced by strings.
      return (await walk(config, '', [part])) as typeof config;
    },
  };
}

/** Of the names of all secrets that were moved out of an agent. */
export function prefixOf(agentId: string): string {
  return `AGENT_${agentId.replaceAll('-', '').toUpperCase()}_`;
}

/** Parts of an `api` configuration in which `${ … }` is evaluated: there such a text is a template, elsewhere it is a value. */
const TEMPLATED = new Set(['headers', 'query', 'body']);

function isLiteral(text: string, path: readonly string[]): boolean {
  if (text === '' || placeholderNames(text).size > 0 || unboundName(text) !== null) return false;
  const template = path[0] === 'configuration' && TEMPLATED.has(path[1] ?? '') && /\$\{[\s\S]*\}/.test(text);
  return !template;
}

/** Numbers are never given again, so a published version keeps the value that it was published with. */
async function highest(em: EntityManager, ownerId: string, stem: string): Promise<number> {
  const rows = await em.execute<{ name: string }[]>('select name from secret where owner_id = ? and starts_with(name, ?)', [ownerId, stem]);
  const numbers = rows.map(({ name }) => name.slice(stem.length)).filter((rest) => /^\d{1,9}$/.test(rest));
  return Math.max(0, ...numbers.map(Number));
}
