/** What lists of runs say about each run. */
import type { Run } from '../../../client/index.ts';

/** The first plain values of the input, which tell runs of one workflow apart. */
export function subjectOf(input: unknown): string {
  if (typeof input === 'string') return input;
  if (typeof input !== 'object' || input === null) return '';
  return Object.values(input)
    .filter((value) => typeof value === 'string' || typeof value === 'number')
    .slice(0, 2)
    .join(' · ');
}

/** Its key, tags and labels. */
export function marksOf({ key, tags, labels }: Pick<Run, 'key' | 'tags' | 'labels'>): string[] {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return [...(key === null ? [] : [key]), ...tags, ...pairs];
}

/** How long the run has taken so far. */
export function lengthOf(run: Pick<Run, 'started_at' | 'finished_at'>, nowMs: number): number | null {
  if (run.started_at === null) return null;
  const end = run.finished_at === null ? nowMs : Date.parse(run.finished_at);
  return end - Date.parse(run.started_at);
}
