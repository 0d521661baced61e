const LIMIT = 8 * 1024;

/** `{output: value}` for the log if it is small, else `{output_omitted: true}`. */
export function preview<Name extends string>(
  name: Name,
  value: unknown,
): Record<Name, unknown> | Record<`${Name}_omitted`, true> {
  // A computed key has the type `string`.
  return (fits(value, { left: LIMIT }) ? { [name]: value } : { [`${name}_omitted`]: true }) as ReturnType<
    typeof preview<Name>
  >;
}

/** Whether the value's JSON has at most `left` characters; does not serialize all of it. */
function fits(value: unknown, budget: { left: number }): boolean {
  if (typeof value === 'string') budget.left -= value.length + 2;
  else if (typeof value !== 'object' || value === null) budget.left -= 8;
  else if (Array.isArray(value)) {
    for (const item of value) if (!fits(item, budget)) return false;
    budget.left -= 2;
  } else {
    for (const [key, item] of Object.entries(value)) {
      budget.left -= key.length + 4;
      if (!fits(item, budget)) return false;
    }
    budget.left -= 2;
  }
  return budget.left >= 0;
}
