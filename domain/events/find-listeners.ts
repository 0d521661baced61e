/** Finds the listeners that may take events, by their keys in the index (docs/adr/0033). */
import type { EntityManager } from '../../db/orm.ts';
import type { Attributes } from './effort.ts';
import { typesOf, valueOf, type Shape } from './listener-keys.ts';

/** Before every id. */
export const FIRST = '00000000-0000-0000-0000-000000000000';
/** Types whose shapes are read at once, and shapes of each. */
const MAX_TYPES = 40;
const SHAPES_AT_ONCE = 500;
/** Places of the index that are asked for at once. */
const MAX_PROBES = 10_000;
/** How long values are computed before the events that have theirs are matched. */
const PROBES_MS = 1_000;
/** Listeners that are read at once, at one place of the index and in all. */
const LISTENERS_OF_PROBE = 500;
const FOUND_AT_ONCE = 5_000;

/** One place of the index where listeners of some events may be. */
interface Probe {
  type: string;
  shape: string;
  value: string;
  /** Positions of the events. */
  indexes: number[];
}

/** Of one type, in the order of the index. */
interface ShapesOfType {
  shapes: { shape: string; definition: Shape }[];
  /** There may be others after these. */
  more: boolean;
}

/** By listener, the positions of the events that it may take, in their order. */
export type Found = Map<string, number[]>;

/** SQL: the shapes of a sender's listeners for some types, skipping from one to the next in the index. */
export const SHAPES = `select t.type, s.shape, d.definition
       from json_to_recordset(?::json) as t (type text, after text)
            cross join lateral (
              with recursive found as (
                (select shape from listener_key where sender_id = ? and type = t.type and shape > t.after
                  order by shape limit 1)
                union all
                select next.shape from found cross join lateral (
                  select k.shape from listener_key k
                   where k.sender_id = ? and k.type = t.type and k.shape > found.shape
                   order by k.shape limit 1) next)
              select shape from found limit ${SHAPES_AT_ONCE}) s
            join listener_shape d on d.shape = s.shape
      order by s.shape`;

async function readShapes(
  { em, sender }: Search,
  types: Iterable<string>,
  after: ReadonlyMap<string, string> = new Map(),
): Promise<Map<string, ShapesOfType>> {
  const asked = [...types].map((type) => ({ type, after: after.get(type) ?? '' }));
  const rows = await em.execute<{ type: string; shape: string; definition: Shape }[]>(SHAPES, [
    JSON.stringify(asked),
    sender,
    sender,
  ]);
  return new Map(
    [...Map.groupBy(rows, ({ type }) => type)].map(([type, shapes]) => [
      type,
      { shapes, more: shapes.length === SHAPES_AT_ONCE },
    ]),
  );
}

/** Where to look, and what to do meanwhile: filters are written by users, so they may take long. */
interface Search {
  em: EntityManager;
  sender: string;
  pause: () => Promise<void>;
}

/**
 * Calls `act` with the listeners of the first events, each listener once with all of its events. Takes as
 * many events as can be looked for at once; one whose type has very many shapes comes alone.
 * @returns how many events it has taken: at least one
 */
export async function findListeners(
  search: Search,
  events: readonly { event: Attributes }[],
  act: Act,
): Promise<number> {
  const few = ofFewTypes(events);
  const once = onceForEach(act);
  const known: KnownShapes = new Set();
  const shapes = await readShapes(search, allTypesOf(few));
  withoutKnown(shapes, known);
  const { probes, count } = await probesOf(search, few, shapes);
  await eachFound(search, probes, once);
  // Only one that is alone has more of them.
  const [alone] = count === 1 ? events : [];
  const more = alone === undefined ? new Map<string, string>() : moreOf(shapes, typesOf(alone.event));
  if (alone !== undefined && more.size > 0) {
    const all: Choose = (page) => (withoutKnown(page, known), page);
    await eachPage(search, [alone], { from: more, choose: all, act: once });
    // Listeners of later pages may have moved to earlier ones meanwhile.
    await eachPage(search, [alone], { choose: all, act: once });
  }
  await findMoved(search, events.slice(0, count), known, once);
  return count;
}

type Act = (found: Found) => Promise<void>;

/** Leaves out the listeners for which `act` was called before. */
function onceForEach(act: Act): Act {
  const seen = new Set<string>();
  return async (found) => {
    const fresh = new Map([...found].filter(([id]) => !seen.has(id)));
    for (const id of fresh.keys()) seen.add(id);
    if (fresh.size > 0) await act(fresh);
  };
}

/** The shapes of a page where listeners are looked for. */
type Choose = (page: ReadonlyMap<string, ShapesOfType>) => ReadonlyMap<string, ShapesOfType>;

interface Pages {
  /** By type, the shape after which to begin. Default: all are read. */
  from?: ReadonlyMap<string, string>;
  choose: Choose;
  act: Act;
}

/** Goes through the shapes of the events' types. */
async function eachPage(
  search: Search,
  events: readonly { event: Attributes }[],
  { from, choose, act }: Pages,
): Promise<void> {
  const types = allTypesOf(events);
  for (let after = from ?? new Map([...types].map((type) => [type, ''])); after.size > 0;) {
    const page = await readShapes(search, after.keys(), after);
    const shapes = choose(page);
    for (let first = 0; shapes.size > 0 && first < events.length;) {
      const { probes, count } = await probesOf(search, events, shapes, first);
      await eachFound(search, probes, act);
      first = count;
    }
    after = moreOf(page, types);
  }
}

/** With their types. */
type KnownShapes = Set<string>;

/** The shapes that are not known yet; they are afterwards. */
function withoutKnown(
  shapes: ReadonlyMap<string, ShapesOfType>,
  known: KnownShapes,
): Map<string, ShapesOfType> {
  const fresh = new Map<string, ShapesOfType>();
  for (const [type, { shapes: all }] of shapes) {
    const others = all.filter(({ shape }) => !known.has(`${type} ${shape}`));
    for (const { shape } of others) known.add(`${type} ${shape}`);
    if (others.length > 0) fresh.set(type, { shapes: others, more: false });
  }
  return fresh;
}

function allTypesOf(events: readonly { event: Attributes }[]): Set<string> {
  return new Set(events.flatMap(({ event }) => typesOf(event)));
}

/**
 * A correlation that binds gives a listener another shape. If an event of another sender binds it meanwhile,
 * the listener may have left the shapes that were read for one that no listener had then.
 */
async function findMoved(
  search: Search,
  events: readonly { event: Attributes }[],
  known: KnownShapes,
  act: Act,
): Promise<void> {
  for (let isAnyFresh = true; isAnyFresh;) {
    isAnyFresh = false;
    const choose: Choose = (page) => {
      const fresh = withoutKnown(page, known);
      isAnyFresh ||= fresh.size > 0;
      return fresh;
    };
    await eachPage(search, events, { choose, act });
  }
}

function ofFewTypes<T extends { event: Attributes }>(events: readonly T[]): readonly T[] {
  const types = new Set<string>();
  const end = events.findIndex(({ event }) => {
    for (const type of typesOf(event)) types.add(type);
    return types.size > MAX_TYPES;
  });
  return end < 0 ? events : events.slice(0, end);
}

/** By type, the last shape that was read, if there are others after it. */
function moreOf(shapes: ReadonlyMap<string, ShapesOfType>, types: Iterable<string>): Map<string, string> {
  return new Map(
    [...types].flatMap((type) => {
      const known = shapes.get(type);
      const last = known?.shapes.at(-1)?.shape;
      return known?.more && last !== undefined ? [[type, last]] : [];
    }),
  );
}

/** @returns also the position of the first event that has none yet */
async function probesOf(
  { pause }: Search,
  events: readonly { event: Attributes }[],
  shapes: ReadonlyMap<string, ShapesOfType>,
  from = 0,
): Promise<{ probes: Probe[]; count: number }> {
  const probes = new Map<string, Probe>();
  const until = performance.now() + PROBES_MS;
  let count = from;
  for (const [index, { event }] of events.entries()) {
    if (index < from) continue;
    const ofTypes = typesOf(event).map((type) => ({ type, of: shapes.get(type) }));
    const isLarge = ofTypes.some(({ of }) => of?.more);
    if (index > from && (isLarge || performance.now() > until)) break;
    const own: Probe[] = [];
    for (const { type, of } of ofTypes) {
      for (const { shape, definition } of of?.shapes ?? []) {
        await pause();
        const value = valueOf(definition, event);
        if (value !== null) own.push({ type, shape, value, indexes: [index] });
      }
    }
    if (index > from && probes.size + own.length > MAX_PROBES) break;
    for (const probe of own) {
      const key = `${probe.type} ${probe.shape} ${probe.value}`;
      const known = probes.get(key);
      if (known) known.indexes.push(index);
      else probes.set(key, probe);
    }
    count = index + 1;
    if (isLarge) break;
  }
  return { probes: [...probes.values()], count };
}

/** SQL: the listeners at some probes, which are JSON, by the primary key of the index. */
export const LISTENERS = `
  select p.ord::int as ord, k.listener_id
    from json_to_recordset(?::json) as p (ord int, type text, shape text, value text)
         cross join lateral (
           select listener_id from listener_key
            where sender_id = ?::uuid and type = p.type and shape = p.shape and value = p.value
              and listener_id > ?::uuid
            order by listener_id limit ${LISTENERS_OF_PROBE}) k
   order by k.listener_id limit ${FOUND_AT_ONCE}`;

/** Goes through the listeners of all probes together in the order of their ids. */
async function eachFound({ em, sender }: Search, probes: readonly Probe[], act: Act): Promise<void> {
  if (probes.length === 0) return;
  const asked = JSON.stringify(probes.map(({ type, shape, value }, ord) => ({ ord, type, shape, value })));
  for (let after: string | null = FIRST; after !== null;) {
    const rows: FoundRow[] = await em.execute<FoundRow[]>(LISTENERS, [asked, sender, after]);
    after = wholeUpTo(rows);
    const found = new Map<string, Set<number>>();
    for (const { ord, listener_id: id } of rows) {
      if (after !== null && id > after) break;
      const indexes = found.get(id) ?? new Set();
      for (const index of probes[ord]?.indexes ?? []) indexes.add(index);
      found.set(id, indexes);
    }
    await act(new Map([...found].map(([id, indexes]) => [id, [...indexes].toSorted((a, b) => a - b)])));
  }
}

interface FoundRow {
  ord: number;
  listener_id: string;
}

/** The last listener of which all probes are there; null if all are there of all. */
function wholeUpTo(rows: readonly FoundRow[]): string | null {
  const ofProbe = Map.groupBy(rows, ({ ord }) => ord);
  const ends = [...ofProbe.values()]
    .filter(({ length }) => length === LISTENERS_OF_PROBE)
    .map((full) => full.at(-1)?.listener_id ?? FIRST);
  // The last listener may have others; no listener has as many keys as are read at once.
  if (rows.length === FOUND_AT_ONCE)
    ends.push(rows.findLast(({ listener_id: id }) => id !== rows.at(-1)?.listener_id)?.listener_id ?? FIRST);
  return ends.toSorted()[0] ?? null;
}
