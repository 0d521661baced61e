/** Keywords for the items of an array. */
import { list, type Checking, type Evaluated } from './checking.ts';
import { isSchema, own, type SchemaObject } from './resources.ts';

export function checkArrayParts(
  check: Checking,
  schema: SchemaObject,
  value: readonly unknown[],
  pointer: string,
  mine: Evaluated | null,
): boolean {
  let fits = true;
  const first = list(schema, 'prefixItems');
  const item = (part: unknown, index: number): void => {
    mine?.items.add(index);
    fits = check.run(part, value[index], `${pointer}/${index}`, null) && fits;
  };
  for (let index = 0; index < Math.min(first.length, value.length); index++) item(first[index], index);
  const items = own(schema, 'items');
  if (isSchema(items)) for (let index = first.length; index < value.length; index++) item(items, index);
  fits = checkContains(check, schema, value, pointer, mine) && fits;
  const rest = own(schema, 'unevaluatedItems');
  if (isSchema(rest))
    for (let index = 0; index < value.length; index++) if (!mine?.items.has(index)) item(rest, index);
  return fits;
}

function checkContains(
  check: Checking,
  schema: SchemaObject,
  value: readonly unknown[],
  pointer: string,
  mine: Evaluated | null,
): boolean {
  const contains = own(schema, 'contains');
  if (!isSchema(contains)) return true;
  let count = 0;
  for (let index = 0; index < value.length; index++) {
    if (!check.fits(contains, value[index], `${pointer}/${index}`, null)) continue;
    mine?.items.add(index);
    count++;
  }
  const least = own(schema, 'minContains') ?? 1;
  const most = own(schema, 'maxContains');
  if (typeof least === 'number' && count < least)
    return check.fail(
      pointer,
      `Array must contain at least ${least} items matching schema. Only ${count} items were found.`,
      { keyword: 'contains', expected: least },
    );
  if (typeof most === 'number' && count > most)
    return check.fail(
      pointer,
      `Array may contain at most ${most} items matching schema. ${count} items were found.`,
      { keyword: 'contains', expected: most },
    );
  return true;
}
