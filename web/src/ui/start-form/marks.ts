/** Key, tags and labels of a new run, as people enter them: `a, b` and `team=sales, urgent=yes`. */
import type { Run, RunWorkflowRequest } from '../../../../client/index.ts';

export interface Marks {
  key: string;
  tags: string;
  labels: string;
}

/** Those of an earlier run, but for its key: that is unique among live runs. */
export function firstMarks(earlier: Pick<Run, 'tags' | 'labels'> | undefined): Marks {
  const pairs = Object.entries(earlier?.labels ?? {}).map(([name, value]) => `${name}=${value}`);
  return { key: '', tags: earlier?.tags.join(', ') ?? '', labels: pairs.join(', ') };
}

/** The part of the request; what is empty is left out. */
export function readMarks({ key, tags, labels }: Marks): Omit<RunWorkflowRequest, 'input_params'> {
  const given = listOf(labels).map((pair): [string, string] => {
    const [name = '', ...value] = pair.split('=');
    return [name.trim(), value.join('=').trim()];
  });
  return {
    ...(key.trim() === '' ? {} : { key: key.trim() }),
    ...(listOf(tags).length === 0 ? {} : { tags: listOf(tags) }),
    ...(given.length === 0 ? {} : { labels: Object.fromEntries(given) }),
  };
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}
