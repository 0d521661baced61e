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

/** The name in the store; null for none. `isUnbound`: whether it was not bound before. */
type Binding = (name: string, isUnbound: boolean) => string | null;

/**
 * A copy that reads each secret by the name that `bound` returns; for null, by a name that no store can
 * contain. Null if the definition has mistakes, or computes a name, for example with `$secrets | .name`.
 */
export function bindSecrets(definition: JsonObject, bound: Binding): JsonObject | null {
  const names = secretNames(definition);
  if (names.length === 0) return definition;
  const result = rebindNamed(definition, bound);
  const wanted = new Set(names.map((name) => renamed(name, bound)));
  const checked = validateDefinition(result);
  const isBound = checked.valid && secretNames(result).every((name) => wanted.has(name));
  return isBound ? result : null;
}

/**
 * Like `bindSecrets`, for any definition. A name that it computes stays, and is not declared any more, so
 * that nothing reads it until somebody declares it.
 */
export function rebindNamed(definition: JsonObject, bound: Binding): JsonObject {
  const uses = new Map(
    validateDefinition(definition).references.secrets.flatMap(({ pointer, name }) =>
      pointer.endsWith('/use') ? [[pointer, name]] : [],
    ),
  );
  const walk = (value: unknown, pointer: string): unknown => {
    if (typeof value === 'string') {
      if (uses.get(pointer) === value || /^\/use\/secrets\/\d+$/.test(pointer)) return renamed(value, bound);
      return value.replaceAll(ACCESS, (_, name: string | undefined, quoted: string | undefined) => {
        const found = renamed(name ?? String(JSON.parse(quoted ?? '""')), bound);
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
  return walk(definition, '') as JsonObject;
}

function renamed(name: string, bound: Binding): string {
  const isUnbound = name.startsWith(UNBOUND);
  const plain = isUnbound ? name.slice(UNBOUND.length) : name;
  return bound(plain, isUnbound) ?? `${UNBOUND}${plain}`;
}

function secretNames(definition: JsonObject): string[] {
  const { definition: checked, references } = validateDefinition(definition);
  return [...new Set([...(checked.use?.secrets ?? []), ...references.secrets.map(({ name }) => name)])];
}
