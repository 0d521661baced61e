/** Searches texts for a person's names: as a part of an erasure, and before one, to say what it would do. */
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral } from '../../db/sql.ts';
import { soughtPerson, type NameSearches } from './name-searches.ts';
import type { Former } from './names.ts';
import { searchBatch, TEXT_PLACES, type Finding, type Search } from './search-texts.ts';
import {
  textReport,
  withFindings,
  type StoredTexts,
  type TextChoice,
  type TextReport,
} from './text-report.ts';

/** Most tables have little: one transaction searches several of them. */
const TRANSACTION_MS = 250;

/** How far the search has come: the table, and the key of the last record that was looked at. */
export interface TextPosition {
  kind: string;
  after: string[] | null;
}

interface Erased {
  searches: NameSearches;
  userId: string;
  former: Former | null;
  choice: TextChoice;
  texts: StoredTexts;
}

/** Searches in the caller's transaction for a moment. @returns null as the next position at the end */
export async function eraseTexts(
  em: EntityManager,
  { searches, userId, former, choice, texts: before }: Erased,
  position: TextPosition,
): Promise<{ texts: StoredTexts; next: TextPosition | null }> {
  if (former === null) return { texts: before, next: null };
  const { search: sought, names } = await searches.of(em, userId, former);
  const search = sought && { ...sought, mode: choice };
  // A position of another release may name a kind that this one does not have: it begins anew.
  const isKnown = TEXT_PLACES.some(({ kind }) => kind === position.kind);
  let texts: StoredTexts = isKnown ? { ...before, names } : { names };
  let next: TextPosition | null = search === null ? null : isKnown ? position : firstTextPosition();
  const deadline = performance.now() + TRANSACTION_MS;
  while (next !== null && search !== null) {
    const batch = await searchAt(em, search, next);
    const changedRuns = new Set(batch.findings.flatMap(({ runId }) => runId ?? []));
    if (changedRuns.size > 0) await queueHistories(em, userId, changedRuns);
    texts = withFindings(texts, next.kind, batch.findings, names);
    next = batch.next;
    // What is locked is given free.
    if (batch.findings.length > 0 || performance.now() > deadline) break;
  }
  return { texts, next };
}

async function searchAt(
  em: EntityManager,
  search: Search,
  { kind, after }: TextPosition,
): Promise<{ findings: Finding[]; next: TextPosition | null }> {
  const place = TEXT_PLACES.find((one) => one.kind === kind);
  if (place === undefined) throw new Error(`nothing of the kind ${kind} is searched`);
  const batch = await searchBatch(em, place, search, after);
  return {
    findings: batch.findings,
    next: batch.after === null ? placeAfter(kind) : { kind, after: batch.after },
  };
}

export function firstTextPosition(): TextPosition {
  return { kind: TEXT_PLACES[0]?.kind ?? '', after: null };
}

function placeAfter(kind: string): TextPosition | null {
  const next = TEXT_PLACES[TEXT_PLACES.findIndex((place) => place.kind === kind) + 1];
  return next === undefined ? null : { kind: next.kind, after: null };
}

/** Histories in Temporal of these runs are removed once this is committed (histories.ts). */
export async function queueHistories(
  em: EntityManager,
  userId: string,
  runIds: Iterable<string>,
): Promise<void> {
  await em.execute(
    `insert into erasure_history (run_id, user_id) select unnest(?::uuid[]), ?::uuid on conflict do nothing`,
    [arrayLiteral(runIds), userId],
  );
}

/** What a search would find, unless it takes longer than the time. Each batch is a transaction. */
export async function planTexts(
  fork: () => EntityManager,
  person: { userId: string; former: Former; choice: TextChoice },
  budgetMs: number,
): Promise<TextReport> {
  const deadline = performance.now() + budgetMs;
  const mode = person.choice === 'replace' ? ('plan' as const) : ('report' as const);
  const { search: sought, names } = await soughtPerson(fork(), person.userId, person.former);
  const search = sought && { ...sought, mode };
  let texts: StoredTexts = { names };
  let at: TextPosition | null = search === null ? null : firstTextPosition();
  while (at !== null && search !== null) {
    if (performance.now() > deadline) return textReport(texts, 'stopped');
    const batch = await searchAt(fork(), search, at);
    texts = withFindings(texts, at.kind, batch.findings, names);
    at = batch.next;
  }
  return textReport(texts, 'done');
}
