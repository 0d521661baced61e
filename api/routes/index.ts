import type { AppDeps } from '../app.ts';
import type { Endpoint } from '../endpoint.ts';
import { agentDocsEndpoints } from './agent-docs/routes.ts';
import { agentEndpoints } from './agents/routes.ts';
import { authEndpoints } from './auth/routes.ts';
import { eventEndpoints } from './events/routes.ts';
import { fileEndpoints } from './files/routes.ts';
import { healthEndpoints } from './health/routes.ts';
import { hitlEndpoints } from './hitl/routes.ts';
import { metricsEndpoints } from './metrics/routes.ts';
import { marketplaceEndpoints } from './marketplace/routes.ts';
import { secretEndpoints } from './secrets/routes.ts';
import { runsEndpoints } from './runs/routes.ts';
import { temporalCodecEndpoints } from './temporal-codec/routes.ts';
import { meEndpoints } from './users/me.ts';
import { userEndpoints } from './users/routes.ts';
import { webhookEndpoints } from './webhooks/routes.ts';
import { workflowEndpoints } from './workflows/routes.ts';

/** Every endpoint of the product. A new resource adds its line here. */
export function allEndpoints(deps: AppDeps): Endpoint[] {
  return [
    ...healthEndpoints(deps),
    ...metricsEndpoints(deps),
    ...authEndpoints(deps),
    ...meEndpoints(),
    ...userEndpoints(deps),
    ...agentEndpoints(deps),
    ...agentDocsEndpoints(),
    ...secretEndpoints(deps),
    ...hitlEndpoints(deps),
    ...runsEndpoints(deps),
    ...marketplaceEndpoints(deps),
    ...workflowEndpoints(),
    ...fileEndpoints(deps),
    ...webhookEndpoints(deps),
    ...eventEndpoints(deps),
    ...temporalCodecEndpoints(deps),
  ];
}
