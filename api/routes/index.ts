import type { AppDeps } from '../deps.ts';
import type { Endpoint } from '../endpoint.ts';
import { agentDocsEndpoints } from './agent-docs/routes.ts';
import { agentEndpoints } from './agents/routes.ts';
import { applyEndpoints } from './apply/routes.ts';
import { budgetEndpoints } from './spending/budgets.ts';
import { priceEndpoints } from './spending/prices.ts';
import { usageEndpoints } from './spending/usage.ts';
import { callbackEndpoints } from './callbacks/routes.ts';
import { catalogEndpoints } from './catalogs/routes.ts';
import { deviceEndpoints } from './auth/device.ts';
import { authEndpoints } from './auth/routes.ts';
import { sessionEndpoints } from './console/session.ts';
import { evaluationEndpoints } from './evaluations/routes.ts';
import { eventSourceEndpoints } from './event-sources/routes.ts';
import { eventEndpoints } from './events/routes.ts';
import { fileEndpoints } from './files/routes.ts';
import { healthEndpoints } from './health/routes.ts';
import { hookEndpoints } from './hooks/routes.ts';
import { hitlEndpoints } from './hitl/routes.ts';
import { jobEndpoints } from './jobs/routes.ts';
import { metricsEndpoints } from './metrics/routes.ts';
import { marketplaceEndpoints } from './marketplace/routes.ts';
import { authorizeEndpoints } from './oauth/authorize.ts';
import { oauthMetadataEndpoints } from './oauth/metadata.ts';
import { oauthClientEndpoints } from './oauth/registration.ts';
import { schemaEndpoints } from './schemas/routes.ts';
import { secretEndpoints } from './secrets/routes.ts';
import { runsEndpoints } from './runs/routes.ts';
import { temporalCodecEndpoints } from './temporal-codec/routes.ts';
import { directoryEndpoints } from './users/directory.ts';
import { meEndpoints } from './users/me.ts';
import { preferencesEndpoints } from './users/preferences.ts';
import { userEndpoints } from './users/routes.ts';
import { ownSessionEndpoints } from './users/sessions.ts';
import { webhookEndpoints } from './webhooks/routes.ts';
import { scheduleEndpoints } from './schedules/routes.ts';
import { eventSenderEndpoints } from './workflows/event-senders.ts';
import { workflowEndpoints } from './workflows/routes.ts';

/** All endpoints. Add the endpoints of a new resource here. */
export function allEndpoints(deps: AppDeps): Endpoint[] {
  return [
    ...healthEndpoints(deps),
    ...metricsEndpoints(deps),
    ...authEndpoints(deps),
    ...deviceEndpoints(deps),
    ...authorizeEndpoints(deps),
    ...oauthMetadataEndpoints(deps),
    ...oauthClientEndpoints(deps),
    ...sessionEndpoints(deps),
    ...meEndpoints(deps),
    ...ownSessionEndpoints(),
    ...preferencesEndpoints(),
    ...directoryEndpoints(),
    ...userEndpoints(deps),
    ...agentEndpoints(deps),
    ...agentDocsEndpoints(),
    ...evaluationEndpoints(deps),
    ...jobEndpoints(deps),
    ...callbackEndpoints(deps),
    ...secretEndpoints(deps),
    ...hitlEndpoints(deps),
    ...runsEndpoints(deps),
    ...marketplaceEndpoints(deps),
    ...workflowEndpoints(deps),
    ...eventSenderEndpoints(),
    ...scheduleEndpoints(deps),
    ...budgetEndpoints(),
    ...priceEndpoints(),
    ...usageEndpoints(),
    ...schemaEndpoints(),
    ...catalogEndpoints(),
    ...fileEndpoints(deps),
    ...webhookEndpoints(deps),
    ...applyEndpoints(deps),
    ...eventEndpoints(deps),
    ...eventSourceEndpoints(deps),
    ...hookEndpoints(deps),
    ...temporalCodecEndpoints(deps),
  ];
}
