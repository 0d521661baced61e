/**
 * Moves literal secrets of a configuration (`contracts/credentials.ts`) to the owner's store on save, and
 * replaces them by placeholders.
 */
import {
  isAuthenticationCredential,
  isLiteral,
  namesCredential,
  placeholderFor,
  replaceInAddresses,
} from '../../contracts/credentials.ts';
import { invalid } from '../errors.ts';
import { isRecord } from '../../contracts/is-record.ts';
import type { EntityManager } from '../../db/orm.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { holderOf, type Held } from '../auth/ownership.ts';
import { putSecret } from '../secrets/service.ts';

type JsonObject = Record<string, unknown>;

/** Limits the statements in the caller's transaction; no hand-written configuration has this many. */
const MAX_LITERALS = 200;

export interface SecretMover {
  /**
   * A copy of a `configuration` or `authentication_config` in which placeholders replace literal secrets.
   * @throws 422 `too_many_credentials` for more than 200 of them in all calls together
   */
  move<T extends JsonObject | null>(config: T, part: 'configuration' | 'authentication_config'): Promise<T>;
}

/** Secrets go to the agent's team, else its owner, whoever saves the agent. */
export function createSecretMover(
  em: EntityManager,
  encryption: Encryption,
  agent: Held & { id: string },
): SecretMover {
  const counters = new Map<string, number>();
  let moved = 0;

  const store = async (key: string, value: string, part: string): Promise<string> => {
    moved += 1;
    if (moved > MAX_LITERALS) {
      const message =
        `holds more than ${MAX_LITERALS} credentials: ` +
        'store them as secrets and name them by placeholders';
      throw invalid([{ pointer: `/${part}`, code: 'too_many_credentials', message }]);
    }
    const stem = `${prefixOf(agent.id)}${placeholderFor(key)}_`;
    const count = (counters.get(stem) ?? (await highest(em, holderOf(agent), stem))) + 1;
    counters.set(stem, count);
    await putSecret(em, encryption, holderOf(agent), { name: `${stem}${count}`, value });
    return `<${stem}${count}>`;
  };

  const text = async (value: string, key: string, path: readonly string[]): Promise<string> => {
    const isCredential =
      namesCredential(key) ||
      (path[0] === 'authentication_config' &&
        isAuthenticationCredential(value, path.at(-1) ?? '', path.at(-2) ?? ''));
    if (isCredential && isLiteral(value) && !isTemplate(value, path)) return store(key, value, path[0] ?? '');
    // Two passes, because the replacement callback cannot wait for the store.
    const found: { value: string; name: string }[] = [];
    replaceInAddresses(value, (credential, name) => {
      found.push({ value: credential, name });
      return '';
    });
    const placeholders: string[] = [];
    for (const { value: credential, name } of found)
      placeholders.push(await store(name, credential, path[0] ?? ''));
    return found.length === 0 ? value : replaceInAddresses(value, () => placeholders.shift() ?? '');
  };

  const walk = async (value: unknown, key: string, path: readonly string[]): Promise<unknown> => {
    if (typeof value === 'string') return text(value, key, path);
    if (typeof value !== 'object' || value === null) return value;
    if (Array.isArray(value)) {
      const items: unknown[] = [];
      for (const item of value) items.push(await walk(item, key, path));
      return items;
    }
    const entries: [string, unknown][] = [];
    for (const [name, item] of Object.entries(value))
      entries.push([name, await walk(item, keyOf(value, name), [...path, name])]);
    return Object.fromEntries(entries);
  };

  return {
    async move(config, part) {
      // The assertion holds: strings are only replaced by strings.
      return (await walk(config, '', [part])) as typeof config;
    },
  };
}

/** The prefix of the names of all secrets that were moved out of an agent. */
export function prefixOf(agentId: string): string {
  return `AGENT_${agentId.replaceAll('-', '').toUpperCase()}_`;
}

/**
 * Parts of an `api` configuration in which `${ … }` is evaluated. There such a text is a template, elsewhere
 * a value.
 */
const TEMPLATED = new Set(['headers', 'query', 'body']);

function isTemplate(text: string, path: readonly string[]): boolean {
  return path[0] === 'configuration' && TEMPLATED.has(path[1] ?? '') && /\$\{[\s\S]*\}/.test(text);
}

/** In `{name: "API_KEY", value: "…"}` the value belongs to the key API_KEY. */
function keyOf(holder: object, key: string): string {
  if (key !== 'value' || !isRecord(holder)) return key;
  const name = holder['name'] ?? holder['key'] ?? holder['header'];
  return typeof name === 'string' ? name : key;
}

/** Numbers are never reused, so a published version keeps the value with which it was published. */
async function highest(em: EntityManager, ownerId: string, stem: string): Promise<number> {
  const rows = await em.execute<{ name: string }[]>(
    'select name from secret where owner_id = ? and starts_with(name, ?)',
    [ownerId, stem],
  );
  const numbers = rows.map(({ name }) => name.slice(stem.length)).filter((rest) => /^\d{1,9}$/.test(rest));
  return Math.max(0, ...numbers.map(Number));
}
