import type { AppDeps } from '../deps.ts';
import { scoped, type ScopedEndpoint } from '../scopes.ts';
import { absenceEndpoints } from './absences/routes.ts';
import { agentDocsEndpoints } from './agent-docs/routes.ts';
import { agentEndpoints } from './agents/routes.ts';
import { applyEndpoints } from './apply/routes.ts';
import { budgetEndpoints } from './spending/budgets.ts';
import { quotaEndpoints } from './spending/quotas.ts';
import { priceEndpoints } from './spending/prices.ts';
import { usageEndpoints } from './spending/usage.ts';
import { callbackEndpoints } from './callbacks/routes.ts';
import { catalogEndpoints } from './catalogs/routes.ts';
import { deviceEndpoints } from './auth/device.ts';
import { auditEndpoints } from './audit/routes.ts';
import { passwordLinkEndpoints } from './auth/password-links.ts';
import { authEndpoints } from './auth/routes.ts';
import { backupEndpoints } from './backups/routes.ts';
import { sessionEndpoints } from './console/session.ts';
import { evaluationEndpoints } from './evaluations/routes.ts';
import { eventSourceEndpoints } from './event-sources/routes.ts';
import { eventEndpoints } from './events/routes.ts';
import { fileEndpoints } from './files/routes.ts';
import { healthEndpoints } from './health/routes.ts';
import { hookEndpoints } from './hooks/routes.ts';
import { decisionLinkEndpoints } from './hitl/links.ts';
import { hitlEndpoints } from './hitl/routes.ts';
import { identityEndpoints } from './identity/identities.ts';
import { issuerEndpoints } from './identity/issuers.ts';
import { machineEndpoints } from './identity/machines.ts';
import { scimTokenEndpoints } from './identity/scim-tokens.ts';
import { identityLogInEndpoints } from './identity/log-in.ts';
import { jobEndpoints } from './jobs/routes.ts';
import { metricsEndpoints } from './metrics/routes.ts';
import { marketplaceEndpoints } from './marketplace/routes.ts';
import { notificationEndpoints } from './notifications/routes.ts';
import { authorizeEndpoints } from './oauth/authorize.ts';
import { oauthMetadataEndpoints } from './oauth/metadata.ts';
import { openIdEndpoints } from './oauth/openid.ts';
import { oauthClientEndpoints } from './oauth/registration.ts';
import { schemaEndpoints } from './schemas/routes.ts';
import { secretEndpoints } from './secrets/routes.ts';
import { runsEndpoints } from './runs/routes.ts';
import { teamEndpoints } from './teams/routes.ts';
import { temporalCodecEndpoints } from './temporal-codec/routes.ts';
import { directoryEndpoints } from './users/directory.ts';
import { invitationEndpoints } from './users/invitations.ts';
import { meEndpoints } from './users/me.ts';
import { privacyEndpoints } from './users/privacy.ts';
import { preferencesEndpoints } from './users/preferences.ts';
import { secondFactorEndpoints } from './users/second-factor.ts';
import { accessTokenEndpoints } from './users/tokens.ts';
import { userEndpoints } from './users/routes.ts';
import { transferEndpoints } from './users/transfer.ts';
import { userSessionEndpoints } from './users/sessions.ts';
import { webhookEndpoints } from './webhooks/routes.ts';
import { scheduleEndpoints } from './schedules/routes.ts';
import { eventSenderEndpoints } from './workflows/event-senders.ts';
import { startableEndpoints } from './workflows/startable.ts';
import { workflowEndpoints } from './workflows/routes.ts';

/** All endpoints, with the family of their scopes. Add the endpoints of a new resource here. */
export function allEndpoints(deps: AppDeps): ScopedEndpoint[] {
  const endpoints: ScopedEndpoint[] = [
    ...scoped('none', healthEndpoints(deps)),
    ...scoped('none', metricsEndpoints(deps)),
    ...scoped('account', backupEndpoints(deps)),
    ...logInEndpoints(deps),
    ...scoped(
      'account',
      // Asked while a request is served, when all are there.
      auditEndpoints(deps, () => endpoints.map(({ operationId }) => operationId)),
    ),
    ...scoped('account', userEndpoints(deps)),
    ...scoped('account', invitationEndpoints(deps)),
    ...scoped('account', transferEndpoints(deps)),
    ...scoped('account', privacyEndpoints(deps)),
    ...scoped('account', teamEndpoints(deps)),
    ...scoped('agents', agentEndpoints(deps)),
    ...scoped('agents', agentDocsEndpoints()),
    ...scoped('agents', evaluationEndpoints(deps)),
    ...scoped('agents', jobEndpoints(deps)),
    ...scoped('none', callbackEndpoints(deps)),
    ...scoped('secrets', secretEndpoints(deps)),
    ...scoped('hitl', hitlEndpoints(deps)),
    ...scoped('none', decisionLinkEndpoints(deps)),
    ...scoped('account', notificationEndpoints(deps)),
    ...scoped('person', absenceEndpoints()),
    ...scoped('runs', runsEndpoints(deps)),
    ...scoped('marketplace', marketplaceEndpoints(deps)),
    ...scoped('workflows', workflowEndpoints(deps)),
    ...scoped('workflows', startableEndpoints()),
    ...scoped('workflows', eventSenderEndpoints()),
    ...scoped('workflows', scheduleEndpoints(deps)),
    ...scoped('usage', budgetEndpoints()),
    ...scoped('usage', priceEndpoints()),
    ...scoped('usage', usageEndpoints()),
    ...scoped('usage', quotaEndpoints(deps)),
    ...scoped('workflows', schemaEndpoints()),
    ...scoped('none', catalogEndpoints()),
    ...scoped('files', fileEndpoints(deps)),
    ...scoped('webhooks', webhookEndpoints(deps)),
    ...scoped('workflows', applyEndpoints(deps)),
    ...scoped('events', eventEndpoints(deps)),
    ...scoped('events', eventSourceEndpoints(deps)),
    ...scoped('events', hookEndpoints(deps)),
    ...scoped('none', temporalCodecEndpoints(deps)),
  ];
  return endpoints;
}

/** How people and machines log in, and what they set for themselves. */
function logInEndpoints(deps: AppDeps): ScopedEndpoint[] {
  return [
    ...scoped('none', authEndpoints(deps)),
    ...scoped('none', passwordLinkEndpoints(deps)),
    ...scoped('person', deviceEndpoints(deps)),
    ...scoped('none', authorizeEndpoints(deps)),
    ...scoped('none', oauthMetadataEndpoints(deps)),
    ...scoped('none', openIdEndpoints(deps)),
    ...scoped('none', oauthClientEndpoints(deps)),
    ...scoped('account', issuerEndpoints(deps)),
    ...scoped('account', machineEndpoints()),
    ...scoped('account', scimTokenEndpoints(deps)),
    ...scoped('none', identityLogInEndpoints(deps)),
    ...scoped('person', identityEndpoints(deps)),
    ...scoped('none', sessionEndpoints(deps)),
    ...scoped('account', meEndpoints(deps)),
    ...scoped('person', userSessionEndpoints()),
    ...scoped('account', preferencesEndpoints()),
    ...scoped('account', directoryEndpoints(deps)),
    ...scoped('person', accessTokenEndpoints(deps)),
    ...scoped('person', secondFactorEndpoints(deps)),
  ];
}
