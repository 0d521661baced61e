/** The definition of the run's revision as a picture, with the state of each task. */
import { useMemo } from 'preact/hooks';

import type { Run, WorkflowRevision } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { Diagram } from '../../ui/diagram/diagram.tsx';
import { ProblemText } from '../../ui/problem.tsx';
import type { Step } from './fold-run.ts';
import { lastVisit, taskStates } from './task-states.ts';
import { words } from './words.ts';

interface Props {
  run: Run;
  steps: readonly Step[];
  chosen: Step | undefined;
  onChoose: (key: string | null) => void;
}

export function Picture({ run, ...props }: Props) {
  const { workflow_id: id, workflow_revision: revision } = run;
  if (id === null || revision === null) return <p class="muted">{words.noDefinition}</p>;
  return <Revision id={id} revision={revision} {...props} />;
}

function Revision({
  id,
  revision,
  steps,
  chosen,
  onChoose,
}: Omit<Props, 'run'> & { id: string; revision: number }) {
  const { data, error, refetch } = useQuery<WorkflowRevision>({
    queryKey: ['workflow revision', id, revision],
    queryFn: ({ signal }) => client.call('getWorkflowRevision', { path: { id, revision }, signal }),
    // A revision never changes.
    staleTime: Infinity,
  });
  const states = useMemo(() => taskStates(steps), [steps]);
  if (data === undefined)
    return error === null ? (
      <div aria-busy="true" />
    ) : (
      <ProblemText error={error} retry={() => void refetch()} />
    );
  return (
    <Diagram
      definition={data.definition}
      states={states}
      chosen={chosen?.reference ?? null}
      onSelect={(pointer) => {
        const step = lastVisit(steps, pointer);
        if (step !== undefined) onChoose(step.key);
      }}
    />
  );
}
