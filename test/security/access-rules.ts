/**
 * The rules of access to each operation, as the documentation promises them. The access matrix tries every
 * cell. It also fails for an operation that is missing here, so every new endpoint needs a rule.
 */
import type { Role } from '../../contracts/roles.ts';

/**
 * The people of the matrix: strangers of each role, a candidate of the human tasks, the owner, an admin.
 */
export const people = ['viewer', 'approver', 'builder', 'candidate', 'owner', 'admin'] as const;
export type Person = (typeof people)[number];

/** What each person may do with an object. */
type Standing = Record<Person, 'allowed' | 403 | 404>;

const hidden: Standing = {
  viewer: 404,
  approver: 404,
  builder: 404,
  candidate: 404,
  owner: 'allowed',
  admin: 'allowed',
};
const everybody: Standing = {
  viewer: 'allowed',
  approver: 'allowed',
  builder: 'allowed',
  candidate: 'allowed',
  owner: 'allowed',
  admin: 'allowed',
};
/** Everybody may read the object, only its owner and admins may change it. */
const publicChange: Standing = {
  viewer: 403,
  approver: 403,
  builder: 403,
  candidate: 403,
  owner: 'allowed',
  admin: 'allowed',
};
/** Objects of one account, such as secrets and clients, which not even an admin may use. */
const ownOnly: Standing = { ...hidden, admin: 404 };
const adminOnly: Standing = {
  viewer: 403,
  approver: 403,
  builder: 403,
  candidate: 403,
  owner: 403,
  admin: 'allowed',
};
const nobody: Standing = { ...adminOnly, admin: 403 };
/** A candidate and admins may act on a human task, the owner of its run may only read it. */
const taskSeen: Standing = { ...hidden, candidate: 'allowed' };
const taskActed: Standing = { ...taskSeen, owner: 403 };

/** Objects that the matrix creates; each is named after its `{id}`. */
export type ObjectName =
  | 'privateAgent'
  | 'publicAgent'
  | 'privateWorkflow'
  | 'publicWorkflow'
  | 'run'
  | 'task'
  | 'privateFile'
  | 'publicFile'
  | 'submittedItem'
  | 'approvedItem'
  | 'budget'
  | 'price'
  | 'webhook'
  | 'chat'
  | 'absence'
  | 'hook'
  | 'eventSource'
  | 'event'
  | 'secret'
  | 'client'
  | 'token'
  | 'passkey'
  | 'job'
  | 'evaluation'
  | 'session'
  | 'agentWithSession'
  | 'oauthClient'
  | 'issuer'
  | 'identity'
  | 'user'
  | 'team';

export interface Rule {
  /** The lowest role; a person below it gets 403 before any other check. */
  role: Role;
  /** By object in the path; `none` if the path names no object that has an owner. */
  on: Partial<Record<ObjectName | 'none', Standing>>;
}

function rule(role: Role, on: Rule['on']): Rule {
  return { role, on };
}

const readAgent = rule('viewer', { privateAgent: hidden, publicAgent: everybody });
const changeAgent = rule('builder', { privateAgent: hidden, publicAgent: publicChange });
const readWorkflow = rule('viewer', { privateWorkflow: hidden, publicWorkflow: everybody });
const changeWorkflow = rule('builder', { privateWorkflow: hidden, publicWorkflow: publicChange });
/** Not even a public one without the role builder, unless as a runner. */
const buildersOnly: Standing = { ...everybody, viewer: 403, approver: 403, candidate: 403 };
const runWorkflow = rule('builder', { privateWorkflow: hidden, publicWorkflow: everybody });
const startWorkflow = rule('viewer', { privateWorkflow: hidden, publicWorkflow: buildersOnly });
const readRun = rule('viewer', { run: hidden });
const steerRun = rule('builder', { run: hidden });
const actOnTask = rule('approver', { task: taskActed });
const readFile = rule('viewer', { privateFile: hidden, publicFile: everybody });
const changeFile = rule('viewer', { privateFile: hidden, publicFile: publicChange });
const readItem = rule('viewer', { submittedItem: hidden, approvedItem: everybody });
const ownAgent = rule('builder', { privateAgent: hidden, publicAgent: publicChange });
const ownEvaluation = rule('builder', { evaluation: hidden });
const workOnJob = rule('builder', { job: hidden });
const readWebhook = rule('viewer', { webhook: hidden });
const changeWebhook = rule('approver', { webhook: hidden });
const changeChat = rule('approver', { chat: hidden });
const readHook = rule('viewer', { hook: hidden });
const changeHook = rule('builder', { hook: hidden });
const readSource = rule('viewer', { eventSource: hidden });
const changeSource = rule('builder', { eventSource: hidden });
/** Teams are those of their members; the owner is one, as its admin. */
const ofTeam = rule('viewer', { team: hidden });
const forRole = (role: Role): Rule => rule(role, { none: everybody });

/** By `operationId`. `public` needs no token. */
export const accessRules: Record<string, Rule | 'public'> = {
  // Discovery, health and log-in.
  getHealth: 'public',
  getReadiness: 'public',
  getOpenApi: 'public',
  getRoot: 'public',
  getDefaultCatalog: 'public',
  getJwks: 'public',
  getAuthorizationServerMetadata: 'public',
  createToken: 'public',
  createSession: 'public',
  createDeviceCode: 'public',
  authorize: 'public',
  decideAuthorization: 'public',
  registerClient: 'public',
  listLogInChoices: 'public',
  requestPasswordLink: 'public',
  readPasswordLink: 'public',
  choosePassword: 'public',
  beginIssuerLogIn: 'public',
  completeIssuerLogIn: 'public',
  endSessionsByIssuer: 'public',
  getProtectedResourceMetadata: 'public',
  getMcpResourceMetadata: 'public',
  // The path holds a capability, which has its own test.
  decodeTemporalPayloads: 'public',
  decodePayloads: rule('admin', { none: adminOnly }),
  getOpenIdConfiguration: 'public',
  // Without a session of OpenID Connect they are for nobody.
  getUserInfo: rule('viewer', { none: nobody }),
  postUserInfo: rule('viewer', { none: nobody }),
  getMetrics: rule('admin', { none: adminOnly }),
  getLatestBackups: rule('admin', { none: adminOnly }),

  // External issuers and identities.
  listIssuers: forRole('admin'),
  createIssuer: forRole('admin'),
  getIssuer: rule('admin', { issuer: adminOnly }),
  checkIssuer: rule('admin', { issuer: adminOnly }),
  updateIssuer: rule('admin', { issuer: adminOnly }),
  deleteIssuer: rule('admin', { issuer: adminOnly }),
  listMachines: rule('admin', { issuer: adminOnly }),
  createMachine: rule('admin', { issuer: adminOnly }),
  deleteMachine: rule('admin', { issuer: adminOnly }),
  listScimTokens: rule('admin', { issuer: adminOnly }),
  createScimToken: rule('admin', { issuer: adminOnly }),
  deleteScimToken: rule('admin', { issuer: adminOnly }),
  listMyIdentities: forRole('viewer'),
  linkMyIdentity: forRole('viewer'),
  unlinkMyIdentity: rule('viewer', { identity: ownOnly }),
  deleteMyPassword: forRole('viewer'),
  listUserIdentities: rule('admin', { user: adminOnly }),
  linkUserIdentity: rule('admin', { user: adminOnly }),
  unlinkUserIdentity: rule('admin', { user: adminOnly }),
  // Teams. test/security/team-access.test.ts tries what their members may do with what teams hold.
  listTeams: forRole('viewer'),
  createTeam: forRole('admin'),
  getTeam: ofTeam,
  updateTeam: ofTeam,
  deleteTeam: ofTeam,
  listTeamMembers: ofTeam,
  putTeamMember: ofTeam,
  removeTeamMember: ofTeam,
  listTeamGroups: ofTeam,
  putTeamGroup: ofTeam,
  removeTeamGroup: ofTeam,
  listStartableWorkflows: forRole('viewer'),
  getStartableWorkflow: startWorkflow,

  // Users.
  revokeToken: forRole('viewer'),
  listRegisteredClients: forRole('admin'),
  deleteRegisteredClient: rule('admin', { oauthClient: adminOnly }),
  getDeviceRequest: forRole('viewer'),
  decideDeviceRequest: forRole('viewer'),
  getMe: forRole('viewer'),
  changeMyPassword: forRole('viewer'),
  listMyClients: forRole('viewer'),
  createMyClient: forRole('viewer'),
  getSession: forRole('viewer'),
  deleteSession: forRole('viewer'),
  listMySessions: forRole('viewer'),
  deleteMyOtherSessions: forRole('viewer'),
  deleteMySession: rule('viewer', { session: ownOnly }),
  getMyPreferences: forRole('viewer'),
  putMyPreferences: forRole('viewer'),
  deleteMyClient: rule('viewer', { client: ownOnly }),
  // What it has of agents has its own test.
  getWorkflowSchema: forRole('viewer'),
  listPeople: forRole('viewer'),
  listUsers: forRole('admin'),
  createUser: forRole('admin'),
  getUser: rule('admin', { user: adminOnly }),
  updateUser: rule('admin', { user: adminOnly }),
  getMyPersonalData: rule('viewer', { none: everybody }),
  getPersonalData: rule('admin', { user: adminOnly }),
  getErasure: rule('admin', { user: adminOnly }),
  retryErasure: rule('admin', { user: adminOnly }),
  getTransfer: rule('admin', { user: adminOnly }),
  eraseUser: rule('admin', { user: adminOnly }),
  transferUser: rule('admin', { user: adminOnly }),
  listUserClients: rule('admin', { user: adminOnly }),
  sendInvitation: rule('admin', { user: adminOnly }),
  withdrawInvitation: rule('admin', { user: adminOnly }),
  deleteUserClient: rule('admin', { user: adminOnly }),

  listMyTokens: forRole('viewer'),
  createMyToken: forRole('viewer'),
  deleteMyToken: rule('viewer', { token: ownOnly }),
  getMySecondFactors: forRole('viewer'),
  renewMyRecoveryCodes: forRole('viewer'),
  beginMyTotp: forRole('viewer'),
  confirmMyTotp: forRole('viewer'),
  deleteMyTotp: forRole('viewer'),
  beginMyPasskey: forRole('viewer'),
  createMyPasskey: forRole('viewer'),
  deleteMyPasskey: rule('viewer', { passkey: ownOnly }),
  beginMyVerification: forRole('viewer'),
  verifyMe: forRole('viewer'),
  beginPasskeyLogIn: 'public',
  resetUserSecondFactor: rule('admin', { user: adminOnly }),
  listUserTokens: rule('admin', { user: adminOnly }),
  deleteUserToken: rule('admin', { user: adminOnly }),
  listUserSessions: rule('admin', { user: adminOnly }),
  deleteUserSessions: rule('admin', { user: adminOnly }),
  deleteUserSession: rule('admin', { user: adminOnly }),
  // What each of them sees of it has its own tests: test/integration/audit/audit.test.ts and teams.test.ts.
  listAudit: forRole('viewer'),
  exportAudit: forRole('viewer'),
  verifyAudit: forRole('admin'),

  // Agents.
  listAgents: forRole('viewer'),
  createAgent: forRole('builder'),
  getAgent: readAgent,
  getAgentCard: readAgent,
  getAgentDocumentation: readAgent,
  listAgentRuns: readAgent,
  listAgentVersions: readAgent,
  getAgentVersion: readAgent,
  listAgentSkills: readAgent,
  listConversations: forRole('viewer'),
  listAgentSessions: readAgent,
  getAgentSession: rule('viewer', { agentWithSession: ownOnly }),
  deleteAgentSession: rule('viewer', { agentWithSession: ownOnly }),
  updateAgent: changeAgent,
  importAgents: forRole('builder'),
  refreshAgent: changeAgent,
  checkAgent: changeAgent,
  deleteAgent: changeAgent,
  closeAgentCircuit: changeAgent,
  setAgentCanary: changeAgent,
  deleteAgentCanary: changeAgent,
  getAgentStats: ownAgent,
  createAgentVersion: changeAgent,
  updateAgentVersion: changeAgent,
  publishAgentVersion: changeAgent,
  deprecateAgentVersion: changeAgent,
  createAgentSkill: changeAgent,
  updateAgentSkill: changeAgent,
  deleteAgentSkill: changeAgent,
  invokeAgent: rule('builder', { privateAgent: hidden, publicAgent: everybody }),

  // Evaluations.
  evaluateAgent: ownAgent,
  listEvaluations: ownAgent,
  getEvaluation: ownEvaluation,
  listEvaluationCases: ownEvaluation,
  retryEvaluation: ownEvaluation,
  deleteEvaluation: ownEvaluation,

  // External workers. What their tokens may do has its own test: test/e2e/agents/external-workers.test.ts.
  pollJobs: ownAgent,
  listJobs: ownAgent,
  getJobQueue: ownAgent,
  listWorkerTokens: ownAgent,
  createWorkerToken: ownAgent,
  deleteWorkerToken: ownAgent,
  heartbeatJob: workOnJob,
  completeJob: workOnJob,
  failJob: workOnJob,
  downloadJobFile: workOnJob,
  uploadJobFile: workOnJob,

  // Workflows and runs.
  listWorkflows: forRole('viewer'),
  createWorkflow: forRole('builder'),
  validateWorkflow: forRole('viewer'),
  getWorkflow: readWorkflow,
  listWorkflowRevisions: readWorkflow,
  getWorkflowRevision: readWorkflow,
  getWorkflowDiagram: readWorkflow,
  getWorkflowText: readWorkflow,
  updateWorkflow: changeWorkflow,
  deleteWorkflow: changeWorkflow,
  getSchedule: readWorkflow,
  updateSchedule: changeWorkflow,
  triggerSchedule: changeWorkflow,
  backfillSchedule: changeWorkflow,
  runWorkflow,
  executeWorkflow: runWorkflow,
  applySet: forRole('builder'),
  listAppliedResources: forRole('viewer'),
  listRuns: forRole('viewer'),
  actOnRuns: forRole('builder'),
  getRunStats: forRole('viewer'),
  getRun: readRun,
  listRunTasks: readRun,
  getRunTask: readRun,
  listRunTaskGroups: readRun,
  listRunLogs: readRun,
  streamRunEvents: readRun,
  getRunDiagram: readRun,
  cancelRun: steerRun,
  suspendRun: steerRun,
  resumeRun: steerRun,
  retryRun: steerRun,
  terminateRun: rule('admin', { run: hidden }),

  // Human tasks.
  listHumanTasks: forRole('viewer'),
  getHumanTaskSummary: forRole('viewer'),
  decideHumanTasks: forRole('approver'),
  listHumanTaskAudit: rule('viewer', { task: taskSeen }),
  getHumanTask: rule('viewer', { task: taskSeen }),
  commentHumanTask: rule('viewer', { task: taskSeen }),
  decideHumanTask: actOnTask,
  claimHumanTask: actOnTask,
  releaseHumanTask: actOnTask,
  delegateHumanTask: actOnTask,

  // Marketplace.
  listMarketplaceItems: forRole('viewer'),
  submitMarketplaceItem: forRole('builder'),
  getMarketplaceItem: readItem,
  getMarketplaceVersion: readItem,
  listMarketplaceReviews: readItem,
  reviewMarketplaceItem: readItem,
  // Whether an admin can install an unapproved item depends on its state (409), not on rights.
  installMarketplaceItem: rule('builder', { submittedItem: hidden, approvedItem: everybody }),
  planMarketplaceInstall: rule('builder', { submittedItem: hidden, approvedItem: everybody }),
  withdrawMarketplaceItem: rule('builder', { submittedItem: hidden, approvedItem: publicChange }),
  approveMarketplaceItem: rule('admin', { submittedItem: adminOnly, approvedItem: adminOnly }),
  rejectMarketplaceItem: rule('admin', { submittedItem: adminOnly, approvedItem: adminOnly }),

  // Files, secrets, events, webhooks.
  uploadFile: forRole('builder'),
  listFiles: forRole('viewer'),
  downloadFile: readFile,
  getFile: readFile,
  updateFile: changeFile,
  deleteFile: changeFile,
  createFileLink: changeFile,
  listSecrets: forRole('viewer'),
  getSecret: rule('viewer', { secret: ownOnly }),
  deleteSecret: rule('builder', { secret: ownOnly }),
  putSecret: forRole('builder'),
  streamEvents: forRole('viewer'),
  publishEvent: forRole('builder'),
  listReceivedEvents: forRole('viewer'),
  getReceivedEvent: rule('viewer', { event: hidden }),
  getEventSenders: rule('viewer', { privateWorkflow: hidden, publicWorkflow: publicChange }),
  setEventSenders: changeWorkflow,
  listEventSources: forRole('viewer'),
  createEventSource: forRole('builder'),
  getEventSource: readSource,
  updateEventSource: changeSource,
  deleteEventSource: changeSource,
  listHooks: forRole('viewer'),
  createHook: forRole('builder'),
  getHook: readHook,
  updateHook: changeHook,
  deleteHook: changeHook,
  // The signature is the proof: test/security/inbound-events.test.ts.
  receiveHook: 'public',
  // Prices, budgets and usage.
  listPrices: forRole('viewer'),
  createPrice: forRole('admin'),
  getPrice: rule('viewer', { price: everybody }),
  replacePrice: rule('admin', { price: adminOnly }),
  deletePrice: rule('admin', { price: adminOnly }),
  listBudgets: forRole('viewer'),
  getBudget: rule('viewer', { budget: hidden }),
  raiseBudget: rule('builder', { budget: hidden }),
  listUsage: forRole('viewer'),
  exportUsage: forRole('viewer'),
  // Of others: test/integration/quotas/quotas.test.ts.
  getUsageLimits: forRole('viewer'),

  // The address is the proof: test/e2e/agents/long-jobs.test.ts.
  getCallback: 'public',
  receiveCallback: 'public',
  // The address is the proof: test/integration/hitl/decision-links.test.ts.
  showDecisionLink: 'public',
  decideByLink: 'public',
  // Absences.
  listAbsences: forRole('viewer'),
  createAbsence: forRole('approver'),
  endAbsence: rule('approver', { absence: hidden }),
  // Notifications.
  listNotifications: forRole('viewer'),
  getNotificationSummary: forRole('viewer'),
  streamNotifications: forRole('viewer'),
  markNotificationsRead: forRole('viewer'),
  getNotificationSettings: forRole('viewer'),
  putNotificationSettings: forRole('viewer'),
  listNotificationChannels: forRole('viewer'),
  createNotificationChannel: forRole('approver'),
  updateNotificationChannel: changeChat,
  deleteNotificationChannel: changeChat,
  testNotificationChannel: changeChat,
  sendTestMail: forRole('admin'),
  // The address is the proof: test/integration/notifications.
  showUnsubscribe: 'public',
  unsubscribe: 'public',
  listWebhooks: forRole('viewer'),
  createWebhook: forRole('approver'),
  getWebhook: readWebhook,
  listWebhookDeliveries: readWebhook,
  getWebhookDelivery: readWebhook,
  updateWebhook: changeWebhook,
  deleteWebhook: changeWebhook,
  rotateWebhookSecret: changeWebhook,
  testWebhook: changeWebhook,
  redeliverWebhookDelivery: changeWebhook,
  redeliverFailedWebhookDeliveries: changeWebhook,
};
