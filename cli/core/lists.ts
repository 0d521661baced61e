/** Lists from the server, with a bound unless the user wants everything. */
import type { Cli } from './cli.ts';
import { usageError } from './errors.ts';
import { count, flag, refuseFlags, text, type ValuesOf } from './flags.ts';
import type { View } from './table.ts';

const DEFAULT_LIMIT = 50;

export const listFlags = {
  limit: count(`At most this many (default ${DEFAULT_LIMIT})`),
  all: flag('All of them'),
};

/** Of lists that show administrators what all users have. */
export const ownerFlag = text('Only of this person, or me; for admins, who see those of all users', 'USER');

/** The most that the server gives in one page. */
const MAX_PAGE = 200;
export type ListFlags = ValuesOf<typeof listFlags>;

/** Pages that hold all that is shown, and one more, which tells that there is more. */
export function pageOf({ limit, all }: ListFlags): { limit: number } {
  if (all === true) refuseFlags({ limit }, ['limit'], 'together with --all');
  if (limit === 0) throw usageError('--limit is at least 1.');
  return { limit: all === true ? MAX_PAGE : Math.min((limit ?? DEFAULT_LIMIT) + 1, MAX_PAGE) };
}

/** The first records; says on stderr if there are more. */
export async function collect<T>(
  cli: Cli,
  items: AsyncIterable<T>,
  { limit = DEFAULT_LIMIT, all }: ListFlags,
): Promise<T[]> {
  const rows: T[] = [];
  for await (const row of items) {
    if (all !== true && rows.length === limit) {
      cli.say(`These are the first ${limit}. For more: --limit N, or --all.`);
      break;
    }
    rows.push(row);
  }
  return rows;
}

/** The view, which of an empty list that was narrowed says no more than that. */
export function viewOf<T>(view: View<T>, filters: Readonly<Record<string, unknown>>): View<T> {
  const isNarrowed = Object.values(filters).some((value) => value !== undefined);
  return isNarrowed ? { ...view, none: 'None matches.' } : view;
}
