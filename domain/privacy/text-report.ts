/** What the search for a person's names in texts has found: kept with the erasure, without the names. */
import { counted, type Counts, type Kept } from './holdings.ts';
import type { NameTreatment } from './names.ts';
import type { Finding } from './search-texts.ts';
import { STAYS, type Stay } from './text-place.ts';

/** What becomes of names in texts. */
export const TEXT_CHOICES = ['report', 'replace'] as const;
export type TextChoice = (typeof TEXT_CHOICES)[number];

/** Records that a report lists, of those in which a name is still. */
export const MAX_PLACES = 200;

interface StoredPlace {
  kind: string;
  id: string;
  stay: Stay | null;
}

/** As the erasure's row has it. */
export interface StoredTexts {
  names?: NameTreatment[];
  found?: Counts;
  replaced?: Counts;
  /** By kind and reason. */
  stays?: { kind: string; stay: Stay; count: number }[];
  places?: StoredPlace[];
}

export interface TextReport {
  /** `stopped`: of a dry run, which gave up after some seconds. */
  status: 'waiting' | 'searching' | 'done' | 'stopped';
  names: NameTreatment[];
  /** Records in which a name was found, by kind. */
  found: Counts;
  replaced: Counts;
  stays: Kept[];
  /** Where names are still. */
  places: { kind: string; id: string; why: string | null }[];
}

/** Adds what a batch has found. Findings of one record follow each other. */
export function withFindings(
  texts: StoredTexts,
  kind: string,
  findings: readonly Finding[],
  names: NameTreatment[],
): StoredTexts {
  const left = findings.filter(({ replaced, stay }) => !replaced || stay !== null);
  const listed = left.map(({ id, stay }) => ({ kind, id, stay }));
  return {
    names,
    found: counted(texts.found ?? {}, kind, findings.length),
    replaced: counted(texts.replaced ?? {}, kind, findings.filter(({ replaced }) => replaced).length),
    stays: withStays(texts.stays ?? [], kind, findings),
    places: distinct([...(texts.places ?? []), ...listed]).slice(0, MAX_PLACES),
  };
}

function withStays(
  before: NonNullable<StoredTexts['stays']>,
  kind: string,
  findings: readonly Finding[],
): NonNullable<StoredTexts['stays']> {
  const stays = before.map((entry) => ({ ...entry }));
  for (const { stay } of findings) {
    if (stay === null) continue;
    const entry = stays.find((one) => one.kind === kind && one.stay === stay);
    if (entry === undefined) stays.push({ kind, stay, count: 1 });
    else entry.count += 1;
  }
  return stays;
}

/** Several records have one id: entries of a run's log. */
function distinct(places: readonly StoredPlace[]): StoredPlace[] {
  return [...new Map(places.map((place) => [`${place.kind} ${place.id} ${place.stay}`, place])).values()];
}

export function textReport(texts: StoredTexts, status: TextReport['status']): TextReport {
  const { names = [], found = {}, replaced = {}, stays = [], places = [] } = texts;
  return {
    status,
    names,
    found,
    replaced,
    stays: stays.map(({ kind, stay, count }) => ({ kind, count, why: STAYS[stay] })),
    places: places.map(({ kind, id, stay }) => ({ kind, id, why: stay === null ? null : STAYS[stay] })),
  };
}
