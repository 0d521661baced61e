/** How a table with text is described that an erasure searches for names. */

/** Why a name stays. The keys are in the report, the sentences explain them. */
export const STAYS = {
  audit_log: 'The audit log shows that nobody changed it. Entries go after AUDIT_RETENTION_DAYS.',
  pinned: 'Revisions and versions are pinned by runs and known by their digests. Save one without the name.',
  name: 'Other records refer to it by this name. Rename it by hand.',
  configuration: 'It decides what is called or allowed. Change it by hand.',
  state: 'The state of a run, from which it goes on or is retried. It goes with the run.',
  live_run: 'Their runs had not ended. They go with their runs, after RETENTION_DAYS.',
  received: 'What others sent, and runs may still take. It goes after EVENT_RETENTION_DAYS.',
  sending: 'It is about to be sent.',
  ambiguous: 'The name is not unique to the person, or one of the words that records consist of.',
} as const;
export type Stay = keyof typeof STAYS;

/**
 * `json`: people's own data, names of fields included. `record`: JSON whose fields are the platform's, so
 * only values change. `texts`: a list of texts. `body`: a text that may be JSON, a record then.
 */
export type TextType = 'text' | 'texts' | 'json' | 'record' | 'body';

export interface TextPlace {
  kind: string;
  table: string;
  /** The columns of the primary key, each with its type; the first one is the record's id in reports. */
  key: readonly string[];
  /** Columns in which names are replaced. */
  texts?: Readonly<Record<string, TextType>>;
  /** Columns in which names are only reported, by the reason. */
  fixed?: Partial<Record<Stay, readonly string[]>>;
  /** Fields of its records whose values stay: ids of decisions, as the definitions offer them. */
  ids?: readonly string[];
  /** SQL: the id of the run that may go on; texts change only after its end. */
  run?: string;
  /** SQL: when the texts of a record stay, and why. */
  unless?: { stay: Stay; condition: string };
}

/** The columns of a place in which names are looked for. */
export function columnsOf({ texts = {}, fixed = {} }: TextPlace): string[] {
  return [...Object.keys(texts), ...Object.values(fixed).flat()];
}

export const nameOf = (column: string): string => column.split(' ')[0] ?? '';
export const typeOf = (column: string): string => column.split(' ')[1] ?? '';

/** SQL: the primary key, as it is sorted. */
export function keyColumns({ key }: TextPlace): string {
  return key.map((column) => `t."${nameOf(column)}"`).join(', ');
}

export function keyValues({ key }: TextPlace): string {
  return key.map((column) => `?::${typeOf(column)}`).join(', ');
}
