/** What the text changes in a saved revision, in the language of the text. */
import { useQuery } from '../../data/query.ts';
import { ProblemText } from '../../ui/problem.tsx';
import { TextDiff } from '../../ui/text-diff/text-diff.tsx';
import type { EditorModel } from './model.ts';
import { words } from './words.ts';

interface Props {
  model: EditorModel;
  id: string;
  revision: number;
  label: string;
}

export function RevisionDiff({ model, id, revision, label }: Props) {
  const format = model.format.value;
  const { data, error } = useQuery<string>({
    queryKey: ['revision text', id, revision, format],
    // A revision never changes.
    staleTime: Infinity,
    queryFn: () => model.textOfRevision(id, revision, format),
  });
  const definition = model.checked.value?.definition;
  if (definition === undefined) return <p class="muted">{words.changes.unreadable}</p>;
  if (error !== null) return <ProblemText error={error} />;
  if (data === undefined) return <div aria-busy="true" />;
  const after = format === 'yaml' ? model.text.value : `${JSON.stringify(definition, null, 2)}\n`;
  return <TextDiff before={data} after={after} label={label} />;
}
