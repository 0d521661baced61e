/** The merge patch (RFC 7396) that turns one definition into another. */

export interface Patch {
  patch: Record<string, unknown>;
  /** Pointers of nulls that a merge patch cannot set, because its null removes a name. */
  lost: string[];
}

export function mergePatchOf(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  pointer = '',
): Patch {
  const patch = new Map<string, unknown>();
  const lost: string[] = [];
  for (const name of Object.keys(before)) if (!Object.hasOwn(after, name)) patch.set(name, null);
  for (const [name, value] of Object.entries(after)) {
    const at = `${pointer}/${name}`;
    const old = Object.hasOwn(before, name) ? before[name] : undefined;
    if (isSame(old, value)) continue;
    if (value === null) lost.push(at);
    else if (isObject(value)) {
      const inner = mergePatchOf(isObject(old) ? old : {}, value, at);
      patch.set(name, inner.patch);
      lost.push(...inner.lost);
    } else patch.set(name, value);
  }
  return { patch: Object.fromEntries(patch), lost };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSame(left: unknown, right: unknown): boolean {
  return left !== undefined && JSON.stringify(left) === JSON.stringify(right);
}
