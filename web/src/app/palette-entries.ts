/** What the palette offers, and which of it a text finds. */

export interface Entry {
  /** Differs from that of all others. */
  id: string;
  group: string;
  label: string;
  /** Tells entries of one name apart. */
  detail?: string;
  /** Keys that do the same. */
  keys?: readonly string[];
  act: () => void;
}

export interface Group {
  name: string;
  entries: readonly Entry[];
}

/** Shown of each group: what is not found by then is found by more letters. */
const MAX_PER_GROUP = 8;

/** The entries that have each word of the text, the best first within their group. */
export function matching(entries: readonly Entry[], text: string): Group[] {
  const wanted = wordsOf(text);
  const found = entries
    .map((entry) => ({ entry, rank: rankOf(entry, wanted) }))
    .filter(({ rank }) => rank < NOT_FOUND)
    .toSorted((left, right) => left.rank - right.rank);
  // Groups keep their order, whatever their entries rank.
  return [...new Set(entries.map(({ group }) => group))].flatMap((name) => {
    const own = found.filter(({ entry }) => entry.group === name).slice(0, MAX_PER_GROUP);
    return own.length === 0 ? [] : [{ name, entries: own.map(({ entry }) => entry) }];
  });
}

const NOT_FOUND = 3;

/** 0 if the name begins with the text, 1 if each word begins a word of it, 2 if it has them anywhere. */
function rankOf({ label, detail = '' }: Entry, wanted: readonly string[]): number {
  const name = label.toLowerCase();
  if (name.startsWith(wanted.join(' '))) return 0;
  const own = wordsOf(`${label} ${detail}`);
  if (wanted.every((word) => own.some((one) => one.startsWith(word)))) return 1;
  const all = `${label} ${detail}`.toLowerCase();
  return wanted.every((word) => all.includes(word)) ? 2 : NOT_FOUND;
}

function wordsOf(text: string): string[] {
  return text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
}
