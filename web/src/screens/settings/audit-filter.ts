/** What the audit log is narrowed to: the address has the parameters of the API. */
import { OPERATIONS } from '../../../../client/index.ts';
import { OTHER_ACTIONS } from '../../../../contracts/audit-actions.ts';
import type { Query } from '../../app/routes.ts';
import { words } from './audit-words.ts';

/** All that the log may have; a server of another release may know further ones. */
export const ACTIONS: readonly string[] = [...OTHER_ACTIONS, ...Object.keys(OPERATIONS)];

type Outcome = keyof typeof words.outcomes;

// Safe: they are the table's own names.
export const OUTCOMES = Object.keys(words.outcomes) as Outcome[];
const TEXTS = ['actor_id', 'action', 'object_type', 'object_id', 'address', 'team_id'] as const;
const TIMES = ['from', 'to'] as const;

export type AuditFilter = { outcome?: Outcome } & Partial<
  Record<(typeof TEXTS)[number] | (typeof TIMES)[number], string>
>;

/** What the address does not say, or says wrong, does not narrow. */
export function filterOf(query: Query): AuditFilter {
  const outcome = OUTCOMES.find((one) => one === query['outcome']);
  const texts = TEXTS.flatMap((name) => (query[name] ? [[name, query[name]] as const] : []));
  const times = TIMES.flatMap((name) => {
    const at = isoTime(query[name] ?? '');
    return at === undefined ? [] : [[name, at] as const];
  });
  return { ...(outcome === undefined ? {} : { outcome }), ...Object.fromEntries([...texts, ...times]) };
}

/** The parameters that clear the filter. */
export const NO_FILTER: Readonly<Record<string, undefined>> = Object.fromEntries(
  ['outcome', ...TEXTS, ...TIMES].map((name) => [name, undefined]),
);

/** An action in words: `decideHumanTask` is shown as `Decide human task`, and `log_in` as `Log in`. */
export function actionText(action: string): string {
  const text = action.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`).replaceAll(/[_\s]+/g, ' ');
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** The action that was entered by its name, or in the words of the table; else what was entered. */
export function actionNamed(text: string): string {
  const isMeant = (action: string) => actionText(action).toLowerCase() === text.toLowerCase();
  return ACTIONS.includes(text) ? text : (ACTIONS.find(isMeant) ?? text);
}

/** Where the entries of the filter are downloaded. */
export function exportAddress(filter: AuditFilter): string {
  return `/audit/export?${new URLSearchParams({ format: 'csv', ...filter }).toString()}`;
}

/** A time as a field for local times holds it. */
export function localTime(iso: string | undefined): string {
  const at = new Date(iso ?? '');
  if (Number.isNaN(at.getTime())) return '';
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** The time of a field for local times, or of any text; undefined without one. */
export function isoTime(text: string): string | undefined {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}
