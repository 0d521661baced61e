/** What the API can do, the command line can do. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const root = join(import.meta.dirname, '../../..');

/** Operations without a command, each with the reason. `cadenza api` reaches them too. */
const WITHOUT_COMMAND: Readonly<Record<string, string>> = {
  getJwks: 'keys for programs that check tokens',
  getAuthorizationServerMetadata: 'metadata for OAuth clients',
  getProtectedResourceMetadata: 'metadata for OAuth clients',
  getMcpResourceMetadata: 'metadata for OAuth clients',
  authorize: 'the page on which a browser logs in for an OAuth client',
  decideAuthorization: 'the page on which a browser logs in for an OAuth client',
  registerClient: 'OAuth clients register themselves',
  getDeviceRequest: 'the console approves the code of a log-in',
  decideDeviceRequest: 'the console approves the code of a log-in',
  createSession: 'the session of the console',
  listLogInChoices: 'for the log-in screen',
  requestPasswordLink: 'for the log-in screen',
  readPasswordLink: 'the page of the console that mails lead to',
  choosePassword: 'the page of the console that mails lead to',
  beginIssuerLogIn: 'a browser logs in at an issuer',
  completeIssuerLogIn: 'a browser logs in at an issuer',
  endSessionsByIssuer: 'issuers call it',
  linkMyIdentity: 'a browser logs in at an issuer',
  getSession: 'the session of the console',
  deleteSession: 'the session of the console',
  getMyPreferences: 'preferences of the console',
  putMyPreferences: 'preferences of the console',
  getDefaultCatalog: 'names for editors; docs/language.md describes the functions',
  getRoot: 'links for whoever opens the bare address',
  getHealth: 'for probes; `status` and `doctor` ask for readiness',
  getMetrics: 'for Prometheus',
  decodeTemporalPayloads: 'for the web interface of Temporal',
  decodePayloads: 'for the web interface of Temporal',
  getOpenIdConfiguration: 'for libraries of OpenID Connect',
  getUserInfo: 'for libraries of OpenID Connect',
  postUserInfo: 'for libraries of OpenID Connect',
  streamNotifications: 'a page follows it; `notification count` prints the same',
  showDecisionLink: 'a page that mails lead to',
  decideByLink: 'a page that mails lead to',
  showUnsubscribe: 'a page that mails lead to',
  unsubscribe: 'a page that mails lead to',
  receiveHook: 'other services call it',
  getCallback: 'agents call it',
  receiveCallback: 'agents call it',
  pollJobs: '`worker run` does it, with createWorker of the client',
  heartbeatJob: '`worker run` does it, with createWorker of the client',
  completeJob: '`worker run` does it, with createWorker of the client',
  failJob: '`worker run` does it, with createWorker of the client',
  downloadJobFile: 'the program of a worker reads the files of its job',
  uploadJobFile: 'the program of a worker adds files',
  executeWorkflow: 'another name of runWorkflow',
  listAgentRuns: '`run list --agent` lists the same',
  getSecret: '`secret list` lists the same',
  getMySecondFactors: 'the console sets up second factors',
  renewMyRecoveryCodes: 'the console sets up second factors',
  beginMyTotp: 'the console sets up second factors',
  confirmMyTotp: 'the console sets up second factors',
  deleteMyTotp: 'the console sets up second factors',
  beginMyPasskey: 'passkeys need a browser',
  createMyPasskey: 'passkeys need a browser',
  deleteMyPasskey: 'passkeys need a browser',
  beginMyVerification: 'passkeys need a browser',
  beginPasskeyLogIn: 'passkeys need a browser',
  createToken: 'core/oauth.ts sends forms without a session',
  revokeToken: 'core/oauth.ts sends forms without a session',
  createDeviceCode: 'core/oauth.ts sends forms without a session',
  downloadFile: '`file download` streams it',
};

interface Document {
  paths: Record<string, Record<string, { operationId?: string }>>;
}
const document: Document = JSON.parse(readFileSync(join(root, 'docs/openapi.json'), 'utf8'));
const operations = Object.values(document.paths)
  .flatMap((methods) => Object.values(methods))
  .flatMap(({ operationId }) => (operationId === undefined ? [] : [operationId]));
const source = globSync('cli/**/*.ts', { cwd: root })
  .map((file) => readFileSync(join(root, file), 'utf8'))
  .join('\n');
const isCalled = (operation: string): boolean => source.includes(`'${operation}'`);

test('each operation of the API has a command, or a reason to have none', () => {
  expect(operations.length).toBeGreaterThan(150);
  expect(operations.filter((one) => !isCalled(one) && !Object.hasOwn(WITHOUT_COMMAND, one))).toEqual([]);
});

test('no reason is out of date', () => {
  const named = Object.keys(WITHOUT_COMMAND);
  expect(named.filter((one) => !operations.includes(one) || isCalled(one))).toEqual([]);
});
