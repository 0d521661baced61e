/** The picture of a run: its definition, with the state of each task. */
import { withValues } from '../../../language/definition/resources.ts';
import { shownNames } from '../../../domain/registry/workflow-agents.ts';
import { getRunPicture } from '../../../domain/runs/picture.ts';
import { diagramResponses, respondDiagram } from '../../diagram/respond.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { idParams } from '../../schemas.ts';

export function runDiagramEndpoint(): Endpoint {
  return endpoint({
    method: 'GET',
    path: '/runs/{id}/diagram',
    operationId: 'getRunDiagram',
    summary: 'Get a diagram of the run with the state of its tasks, as Mermaid or (by `Accept`) SVG',
    description: "404 also if the run's workflow is not visible to the caller.",
    tags: ['runs'],
    role: 'viewer',
    params: idParams,
    responses: diagramResponses,
    errors: [404],
    async handler(c) {
      const { definition, agents, states } = await getRunPicture(c.em, c.actor, c.params.id);
      return respondDiagram(c, withValues(definition, await shownNames(c.em, c.actor, agents)), states);
    },
  });
}
