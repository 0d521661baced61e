/** What the API can do, the console can do. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

import { coverageOf, type Document, type SourceFile } from '../../support/console-coverage.ts';

const root = join(import.meta.dirname, '../../..');

const FOR_CLIENTS = 'metadata for OAuth clients and libraries of OpenID Connect';
const FOR_PROGRAMS = 'programs call it, with credentials of their own';
const SERVED_PAGE = 'a page that the server draws itself';
const IN_LIST = 'the list has the whole record';
const DRAWN_HERE = 'the console draws the picture itself';
const FOLLOWED = 'the screen of a run follows the stream of its events, which has all of it';
const FOR_WORKERS = 'external workers call it, with createWorker of the client';
const FOR_CODEC = 'for the web interface of Temporal';
const BY_FOLDER = '`cadenza apply` sends a folder of files';

/** Operations that the console does not call, each with the reason. */
const NOT_CALLED: Readonly<Record<string, string>> = {
  getRoot: 'links for whoever opens the bare address, who is sent to the console',
  getJwks: FOR_CLIENTS,
  getAuthorizationServerMetadata: FOR_CLIENTS,
  getProtectedResourceMetadata: FOR_CLIENTS,
  getMcpResourceMetadata: FOR_CLIENTS,
  getOpenIdConfiguration: FOR_CLIENTS,
  registerClient: 'OAuth clients register themselves',
  createToken: FOR_PROGRAMS,
  revokeToken: FOR_PROGRAMS,
  createDeviceCode: FOR_PROGRAMS,
  getUserInfo: FOR_PROGRAMS,
  postUserInfo: FOR_PROGRAMS,
  authorize: SERVED_PAGE,
  decideAuthorization: SERVED_PAGE,
  showDecisionLink: SERVED_PAGE,
  decideByLink: SERVED_PAGE,
  showUnsubscribe: SERVED_PAGE,
  unsubscribe: SERVED_PAGE,
  completeIssuerLogIn: 'the issuer sends the browser there',
  endSessionsByIssuer: 'issuers call it',
  receiveHook: 'other services call it',
  getCallback: 'agents call it',
  receiveCallback: 'agents call it',
  pollJobs: FOR_WORKERS,
  heartbeatJob: FOR_WORKERS,
  completeJob: FOR_WORKERS,
  failJob: FOR_WORKERS,
  downloadJobFile: FOR_WORKERS,
  uploadJobFile: FOR_WORKERS,
  decodePayloads: FOR_CODEC,
  decodeTemporalPayloads: FOR_CODEC,
  getHealth: 'for probes; the screen of the health asks for readiness',
  getMetrics: 'for Prometheus',
  getOpenApi: 'for programs; the document describes the API',
  getWorkflowSchema: 'for editors on the machine of a developer; the console has its own check',
  getDefaultCatalog: 'names for other editors; that of the console knows the functions',
  applySet: BY_FOLDER,
  listAppliedResources: BY_FOLDER,
  executeWorkflow: 'another name of runWorkflow',
  streamNotifications: 'streamEvents tells the page of them too',
  getMe: 'the session says who the user is',
  getFile: IN_LIST,
  getIssuer: IN_LIST,
  getPrice: IN_LIST,
  getSecret: IN_LIST,
  getTeam: IN_LIST,
  getWebhookDelivery: IN_LIST,
  listAgentSkills: 'the record of the agent has them',
  listAgentVersions: 'the record of the agent has them',
  updateAgentVersion: 'the form of the agent changes its draft, with updateAgent',
  getRunDiagram: DRAWN_HERE,
  getWorkflowDiagram: DRAWN_HERE,
  listRunLogs: FOLLOWED,
  listRunTasks: FOLLOWED,
  listRunTaskGroups: FOLLOWED,
};

const ON_ITS_PAGE = 'the page of the new record sets it';
const BY_SEARCH = 'the search field finds the same by words';
const OTHER_LIST = 'the screen of that record has its own list';
const PAGE_OF_BROWSER = 'the browser fills it';
const FOR_MANY = 'for programs that go through many records; people read the newest';
const WHOLE = 'the table has a row for each, by the choice of `by`';

/** Fields that the console does not set, `operation.field` with all that is inside, each with the reason. */
const NOT_SET: Readonly<Record<string, string>> = {
  'listAbsences.current': 'a person has a few absences, and all are shown',
  'listAgents.visibility': BY_SEARCH,
  'listAgents.capability': BY_SEARCH,
  'listAgents.modality': BY_SEARCH,
  'listAgents.tag': BY_SEARCH,
  'createAgent.limits': ON_ITS_PAGE,
  'createAgent.budget': ON_ITS_PAGE,
  'createAgent.skills': ON_ITS_PAGE,
  'createWorkflow.description': ON_ITS_PAGE,
  'createWorkflow.visibility': ON_ITS_PAGE,
  'createWorkflow.tags': ON_ITS_PAGE,
  'createWorkflow.budget': ON_ITS_PAGE,
  'createWorkflow.runners': ON_ITS_PAGE,
  'importAgents.visibility': ON_ITS_PAGE,
  'evaluateAgent.cases': 'the file has the cases',
  'evaluateAgent.checks': 'the file may give each case its checks',
  'evaluateAgent.judge.pass': 'a judge that answers as the documentation says needs no expression',
  'getAgentStats.hours': 'the last day, as the server has it',
  'verifyMe.password': 'with a password, people log in again, which createSession does',
  'downloadFile.token': 'in links, for people without a log-in',
  'publishEvent.time': 'now, as the server has it',
  'invokeAgent.stream': 'an answer is shown while it grows if the agent can stream',
  'invokeAgent.budget': 'the budget of the agent holds for tries too',
  'listAgentSessions.q': 'conversations are searched in the settings',
  'createWorkerToken.agent_ids': 'here each agent has tokens of its own',
  'createSession.passkey': PAGE_OF_BROWSER,
  'createMyPasskey.passkey': PAGE_OF_BROWSER,
  'verifyMe.passkey': PAGE_OF_BROWSER,
  'streamEvents.run_id': 'one stream tells the page of all',
  'streamEvents.mine': 'one stream tells the page of all',
  'publishEvent.datacontenttype': 'the data of a form is JSON',
  'publishEvent.data_base64': 'the data of a form is JSON',
  'publishEvent.dataschema': 'nothing here reads it',
  'listReceivedEvents.received_after': FOR_MANY,
  'listReceivedEvents.received_before': FOR_MANY,
  'listFiles.sha256': 'for programs that look whether a file is there',
  'listFiles.run_id': 'the data on the screen of a run has its files',
  'listHumanTasks.due_before': 'the inbox is sorted by it, and shows what is overdue',
  'listHumanTasks.workflow_id': BY_SEARCH,
  'decideHumanTask.payload': 'a decision is kept in the outbox with the whole body',
  'listRuns.agent_id': OTHER_LIST,
  'listRuns.parent_run_id': OTHER_LIST,
  'listRuns.created_before': FOR_MANY,
  'getRunStats.to': 'the strips end now',
  'terminateRun.reason': 'the last resort of an administrator, whom the audit log names',
  'listStartableWorkflows.granted': 'who builds starts own workflows here, too',
  'listUsage.user_id': WHOLE,
  'listUsage.agent_id': WHOLE,
  'listUsage.workflow_id': WHOLE,
  'listUsage.run_id': WHOLE,
  'exportAudit.after': 'for collectors, which go on where they were: cadenza audit export --follow',
  'exportUsage.user_id': WHOLE,
  'exportUsage.agent_id': WHOLE,
  'exportUsage.workflow_id': WHOLE,
  'exportUsage.run_id': WHOLE,
  'getUsageLimits.user_id': 'admins see what a user may have in its form; what is used is for the user',
  'listWebhookDeliveries.run_id': FOR_MANY,
  'redeliverFailedWebhookDeliveries.since': 'all that failed and has not arrived since is sent again',
};

/** Fields of every list. */
const OF_LISTS: Readonly<Record<string, string>> = {
  cursor: 'data/record-pages.ts goes from page to page',
  limit: 'the length of a page is that of the server where the screen needs no other',
  view: 'records come whole where the screen needs no other',
};

const document: Document = JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8'));
const sources: SourceFile[] = globSync('web/src/**/*.{ts,tsx}', { cwd: root })
  // Names what each part of the settings needs, and calls nothing.
  .filter((path) => !path.endsWith('screens/settings/parts.ts'))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }));
const found = coverageOf(document, sources);

/** The reason that covers a field: its own, or that of what it is inside. */
function reasonsOf(field: string): string[] {
  const [operation = '', ...names] = field.split('.');
  const own = names.map((_, index) => [operation, ...names.slice(0, index + 1)].join('.'));
  return own.filter((name) => Object.hasOwn(NOT_SET, name));
}

test('the console calls each operation of the API, or there is a reason', () => {
  expect(found.operations.length).toBeGreaterThan(250);
  expect(found.unused.filter((one) => !Object.hasOwn(NOT_CALLED, one))).toEqual([]);
});

test('the console sets each field of the requests that it sends, or there is a reason', () => {
  expect(found.fields.length).toBeGreaterThan(700);
  const unset = found.unnamed.filter(
    (field) => !Object.hasOwn(OF_LISTS, field.split('.')[1] ?? '') && reasonsOf(field).length === 0,
  );
  expect(unset).toEqual([]);
});

test('no reason is out of date', () => {
  expect(Object.keys(NOT_CALLED).filter((one) => !found.unused.includes(one))).toEqual([]);
  const needed = new Set(found.unnamed.flatMap(reasonsOf));
  expect(Object.keys(NOT_SET).filter((one) => !needed.has(one))).toEqual([]);
});

test('the check finds a made-up operation, and a made-up field of one in use', () => {
  const list: Document['paths'] = structuredClone(document.paths);
  const text = { type: 'object', properties: { text: { type: 'string' }, colour: { type: 'string' } } };
  list['/poems'] = {
    post: { operationId: 'writePoem', requestBody: { content: { 'application/json': { schema: text } } } },
  };
  const made = { ...document, paths: list };
  expect(coverageOf(made, sources).unused).toContain('writePoem');
  const poems =
    "import { fields } from './fields.ts';\nimport { words } from './words.ts';\n" +
    "client.call('writePoem', { body: { text } });";
  const withPoems = [...sources, { path: 'web/src/screens/poems/poems.tsx', text: poems }];
  const after = coverageOf(made, withPoems);
  expect(after.unused).not.toContain('writePoem');
  expect(after.unnamed).toContain('writePoem.colour');
  expect(after.unnamed).not.toContain('writePoem.text');
  // The word counts in what the screen imports, in what uses it, and nowhere else, such as among texts.
  const also = (path: string, more: string) =>
    coverageOf(made, [...withPoems, { path: `web/src/screens/poems/${path}`, text: more }]).unnamed.includes(
      'writePoem.colour',
    );
  expect(also('fields.ts', 'export const fields = { colour: {} };')).toBe(false);
  expect(also('frame.tsx', "import { Poems } from './poems.tsx';\nconst colour = 1;")).toBe(false);
  expect(also('other.tsx', 'const colour = 1;')).toBe(true);
  expect(also('words.ts', "export const words = { colour: 'Colour' };")).toBe(true);
  expect(also('fields.ts', 'export const fields = { text: words.colour };')).toBe(true);
});

test('neither comments nor questions of rights are calls, and a link is one', () => {
  const of = (path: string, method: string): Document => ({
    paths: { [path]: { [method]: { operationId: 'readPoem' } } },
    components: {},
  });
  const unused = (text: string, path = '/poems/{id}/text', method = 'get') =>
    coverageOf(of(path, method), [{ path: 'web/src/poem.tsx', text }]).unused;
  for (const no of [
    "// client.call('readPoem')",
    "/** As 'readPoem' says. */",
    "if (mayCallFor('readPoem', team)) show();",
    '<a href={`/poems/${id}`}>',
    '<a href={`/poems/${id}/text/more`}>',
  ])
    expect([no, unused(no)]).toEqual([no, ['readPoem']]);
  for (const yes of ["client.call('readPoem')", '<a href={`/poems/${encodeURIComponent(id)}/text?a=${b}`}>'])
    expect([yes, unused(yes)]).toEqual([yes, []]);
  expect(unused('<a href={`/poems/${id}/text`}>', '/poems/{id}/text', 'post')).toEqual(['readPoem']);
});
