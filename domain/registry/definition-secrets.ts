/** A workflow's definition on its way into an item and out of one: which secrets it reads, and under which names a copy reads them. */
import { validateDefinition } from '../../contracts/definition/validate.ts';

type JsonObject = Record<string, unknown>;

const UNBOUND = 'UNBOUND:';
/** `$secrets.name`, `$secrets["any name"]`, as the validation finds them. */
const ACCESS = /\$secrets\s*(?:\.\s*([A-Za-z_][A-Za-z0-9_]*)|\.?\s*\[\s*("(?:[^"\\]|\\.)*")\s*\])/g;

/** The secrets that a definition lists or reads, sorted; those of a copy that are not bound by their first name. */
export function secretsOf(definition: JsonObject): string[] {
  return [...new Set(secretNames(definition).map((name) => (name.startsWith(UNBOUND) ? name.slice(UNBOUND.length) : name)))].toSorted();
}

/**
 * A copy that reads each secret under the name that `bound` gives; null makes it a name that no store can hold. Null for a
 * definition that hides a secret's name from us, such as `$secrets | .name`.
 */
export function bindSecrets(definition: JsonObject, bound: (name: string) => string | null): JsonObject | null {
  const rename = (name: string): string => {
    const plain = name.startsWith(UNBOUND) ? name.slice(UNBOUND.length) : name;
    return bound(plain) ?? `${UNBOUND}${plain}`;
  };
  const names = secretNames(definition);
  if (names.length === 0) return definition;
  const uses = new Map(validateDefinition(definition).references.secrets.flatMap(({ pointer, name }) => (pointer.endsWith('/use') ? [[pointer, name]] : [])));

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
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item, `${pointer}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`)]));
  };
  // An object stays one.
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

/** A copy with other texts at some pointers (RFC 6901). */
export function withTexts(definition: JsonObject, texts: ReadonlyMap<string, string>): JsonObject {
  const copy = structuredClone(definition);
  for (const [pointer, text] of texts) {
    const path = pointer.split('/').slice(1).map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
    const last = path.pop();
    let holder: unknown = copy;
    for (const key of path) holder = typeof holder === 'object' && holder !== null ? Reflect.get(holder, key) : null;
    if (last !== undefined && typeof holder === 'object' && holder !== null) Reflect.set(holder, last, text);
  }
  return copy;
}
