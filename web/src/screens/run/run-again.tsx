/** Starts the run's workflow anew, with an input that one can change first. */
import type { Run, Workflow } from '../../../../client/index.ts';
import { navigate } from '../../app/router.ts';
import { runAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { ProblemText } from '../../ui/problem.tsx';
import { StartForm } from '../../ui/start-form/start-form.tsx';
import { words } from './words.ts';

export function RunAgain({ run, onStarted }: { run: Run; onStarted: () => void }) {
  const id = run.workflow_id ?? '';
  const { data, error, refetch } = useQuery<Workflow>({
    queryKey: ['workflow', id],
    queryFn: ({ signal }) => client.call('getWorkflow', { path: { id }, signal }),
  });
  if (data === undefined)
    return error === null ? (
      <div aria-busy="true" />
    ) : (
      <ProblemText error={error} retry={() => void refetch()} />
    );
  return (
    <>
      <p class="muted">{words.againText(data.revision)}</p>
      <StartForm
        workflowId={id}
        schema={data.input_schema}
        earlier={run.input_params}
        like={run}
        onStarted={(started) => {
          onStarted();
          navigate(runAddress(started.id));
        }}
      />
    </>
  );
}
