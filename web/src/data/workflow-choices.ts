/** Workflows to choose from, the newest first. */
import type { ListedWorkflow } from '../../../client/index.ts';
import { client } from './api.ts';
import { useQuery } from './query.ts';

const MAX_WORKFLOWS = 200;

/** None until they are known. */
export function useWorkflowChoices(): readonly ListedWorkflow[] {
  const { data } = useQuery({
    queryKey: ['workflows to choose'],
    queryFn: ({ signal }) =>
      client.page('listWorkflows', { query: { view: 'summary', limit: MAX_WORKFLOWS }, signal }),
  });
  return data?.items ?? [];
}
