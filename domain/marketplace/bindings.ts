/**
 * Maps the names of an item's secrets to secrets of the actor, or of the team for which it is installed.
 * Only explicitly given bindings count, never an equal name.
 */
import { secretEndpoint } from '../../contracts/secret-endpoint.ts';
import type { ItemKind } from '../../db/entities/marketplace-item.ts';
import { Secret } from '../../db/entities/secret.ts';
import type { EntityManager } from '../../db/orm.ts';
import { invalid, jsonPointer, type FieldError } from '../errors.ts';
import type { Installer } from './installer.ts';

/** The names that a placeholder in a configuration can have. */
const PLACEHOLDER_NAME = /^[A-Z][A-Z0-9_]*$/;

export class Bindings {
  readonly #given: ReadonlyMap<string, string>;
  /** By full name; `kind` determines which names the bound secret may have. */
  readonly #offered = new Map<string, { prefix: string; kind: ItemKind }>();

  readonly #tolerated: string[] = [];

  constructor(given: Record<string, string>) {
    this.#given = new Map(Object.entries(given));
  }

  /** Adds names that may be bound; `prefix` separates those of several agents. */
  offer(prefix: string, names: readonly string[], kind: ItemKind): void {
    for (const name of names) this.#offered.set(prefix + name, { prefix, kind });
  }

  /** Accepts and ignores names with this prefix: their agents are installed already. */
  tolerate(prefix: string): void {
    this.#tolerated.push(prefix);
  }

  /** @throws 422 for names that the item does not require, and for secrets that the holder does not have */
  async check(em: EntityManager, { team_id, holder_id }: Installer): Promise<void> {
    const wanted = [...new Set(this.#given.values())];
    const own =
      wanted.length === 0
        ? []
        : await em.find(Secret, { owner_id: holder_id, name: { $in: wanted } }, { fields: ['name'] });
    const names = new Set(own.map(({ name }) => name));
    const errors = [...this.#given].flatMap(([name, secret]): FieldError[] => {
      const pointer = jsonPointer(['secrets', name]);
      const offered = this.#offered.get(name);
      if (offered === undefined && this.#tolerated.some((prefix) => name.startsWith(prefix))) return [];
      if (offered === undefined)
        return [
          {
            pointer,
            code: 'unknown_field',
            message: `the item requires no secret of this name${this.#known()}`,
          },
        ];
      if (!names.has(secret))
        return [
          {
            pointer,
            code: 'unknown_secret',
            message:
              `there is no secret ${JSON.stringify(secret)}: ` +
              `add it with ${secretEndpoint(secret, team_id)}`,
          },
        ];
      if (offered.kind === 'agent' && !PLACEHOLDER_NAME.test(secret)) {
        return [
          {
            pointer,
            code: 'secret_name',
            message: 'a configuration can only name secrets of upper-case letters, digits and underscores',
          },
        ];
      }
      return [];
    });
    if (errors.length > 0) throw invalid(errors);
  }

  of(prefix: string): (name: string) => string | null {
    return (name) => this.#given.get(prefix + name) ?? null;
  }

  /** Names that were given with this prefix and are not offered; without the prefix. */
  unused(prefix: string): string[] {
    return [...this.#given.keys()].flatMap((name) =>
      name.startsWith(prefix) && !this.#offered.has(name) ? [name.slice(prefix.length)] : [],
    );
  }

  /** Offered names with this prefix that are not bound. */
  missing(prefix: string): string[] {
    return [...this.#offered].flatMap(([name, offered]) =>
      offered.prefix === prefix && !this.#given.has(name) ? [name] : [],
    );
  }

  #known(): string {
    const names = [...this.#offered.keys()];
    return names.length === 0 ? '' : `; it needs ${names.slice(0, 20).join(', ')}`;
  }
}
