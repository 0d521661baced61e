/**
 * Prepares a workflow's definition for an item and for an installed copy: finds the secrets that it reads,
 * and rebinds them to other names.
 */
import { escapeToken } from '../../contracts/json-pointer.ts';
import { validateDefinition } from '../../language/definition/validate.ts';

type JsonObject = Record<string, unknown>;

const UNBOUND = 'UNBOUND:';
/** `$secrets.name` and `$secrets["any name"]`, as the validation recognises them. */
const ACCESS = /\$secrets\s*(?:\.\s*([A-Za-z_][A-Za-z0-9_]*)|\.?\s*\[\s*("(?:[^"\\]|\\.)*")\s*\])/g;

/**
 * The secrets that a definition lists or reads, sorted. Unbound secrets of a copy are listed by their
 * original name.
 */
export function secretsOf(definition: JsonObject): string[] {
  return [
    ...new Set(
      secretNames(definition).map((name) => (name.startsWith(UNBOUND) ? name.slice(UNBOUND.length) : name)),
    ),
  ].toSorted();
}

/** Like `secretsOf`, without those that are not bound. */
export function boundSecretsOf(definition: JsonObject): string[] {
  return secretNames(definition)
    .filter((name) => !name.startsWith(UNBOUND))
    .toSorted();
}

/**
 * A copy that reads each secret by the name that `bound` returns; for null, by a name that no store can
 * contain. `isUnbound`: whether it was not bound before. Null if the definition computes a name, for example
 * with `$secrets | .name`.
 */
export function bindSecrets(
  definition: JsonObject,
  bound: (name: string, isUnbound: boolean) => string | null,
): JsonObject | null {
  const rename = (name: string): string => {
    const isUnbound = name.startsWith(UNBOUND);
    const plain = isUnbound ? name.slice(UNBOUND.length) : name;
    return bound(plain, isUnbound) ?? `${UNBOUND}${plain}`;
  };
  const names = secretNames(definition);
  if (names.length === 0) return definition;
  const uses = new Map(
    validateDefinition(definition).references.secrets.flatMap(({ pointer, name }) =>
      pointer.endsWith('/use') ? [[pointer, name]] : [],
    ),
  );

  const walk = (value: unknown, pointer: string): unknown => {
    if (typeof value === 'string') {
      if (uses.get(pointer) === value || /^\/use\/secrets\/\d+$/.test(pointer)) return rename(value);
      return value.replaceAll(ACCESS, (_, name: string | undefined, quoted: string | undefined) => {
        const found = rename(name ?? String(JSON.parse(quoted ?? '""')));
        return `$secrets[${JSON.stringify(found)}]`;
      });
    }
    if (Array.isArray(value)) {
      const items = value.map((item, index) => walk(item, `${pointer}/${index}`));
      return pointer === '/use/secrets' ? [...new Set(items)] : items;
    }
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, walk(item, `${pointer}/${escapeToken(key)}`)]),
    );
  };
  // The assertion holds: `walk` turns objects into objects.
  const result = walk(definition, '') as JsonObject;
  const wanted = new Set(names.map(rename));
  const checked = validateDefinition(result);
  const isBound = checked.valid && secretNames(result).every((name) => wanted.has(name));
  return isBound ? result : null;
}

function secretNames(definition: JsonObject): string[] {
  const { definition: checked, references } = validateDefinition(definition);
  return [...new Set([...(checked.use?.secrets ?? []), ...references.secrets.map(({ name }) => name)])];
}
