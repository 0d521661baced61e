/**
 * The first attempt of a call is held on its way to the database, and Temporal, which hears nothing of its
 * worker, has the call made by another one. Then the first attempt goes on. It must not call again nor take
 * the claim: record and run have the answer of the one call.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { registeredAgent } from '../support/agent-body.ts';
import { agentTask } from '../support/definitions.ts';
import { sendJson, startServer } from '../support/http-server.ts';
import { endOf, startRun, startTestPlatform, type TestPlatform } from '../support/platform.ts';
import { startProgram } from '../support/programs.ts';
import { startLink, type OnPassing } from './long-run/link.ts';

/** The first statement that claims a key waits, with its connection, until it is let go. */
function heldClaim() {
  const [held, release, answered] = [0, 1, 2].map(() => Promise.withResolvers<void>());
  if (!held || !release || !answered) throw new Error('no promises');
  let holds: unknown = null;
  const onPassing: OnPassing = ({ connection, from, bytes }) => {
    if (holds === null && from === 'client' && /[0-9a-f]{12}:\/do\/0/.test(bytes.toString('latin1'))) {
      holds = connection;
      held.resolve();
      return release.promise;
    }
    if (holds === connection && from === 'server') answered.resolve();
    return undefined;
  };
  return { onPassing, held: held.promise, release: release.resolve, answered: answered.promise };
}

/** Between one worker and the servers. */
async function startLinks({ databaseUrl, temporal }: TestPlatform, onPassing: OnPassing) {
  const url = new URL(databaseUrl);
  const { hostname: host, port } = url;
  const toDatabase = await startLink(() => ({ host, port: Number(port) }), onPassing);
  const [temporalHost = '', temporalPort] = temporal.address.split(':');
  const toTemporal = await startLink(() => ({ host: temporalHost, port: Number(temporalPort) }));
  url.host = `127.0.0.1:${toDatabase.port}`;
  return {
    toTemporal,
    settings: { DATABASE_URL: url.href, TEMPORAL_ADDRESS: `127.0.0.1:${toTemporal.port}` },
    close: () => Promise.all([toDatabase.close(), toTemporal.close()]),
  };
}

/** A counterpart that answers when it is told to, each time with another number. */
async function startCounterpart() {
  const keys: string[] = [];
  const called = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<void>();
  const server = await startServer(async (request, response) => {
    const n = keys.push(String(request.headers['idempotency-key']));
    called.resolve();
    await answer.promise;
    sendJson(response, { n });
  });
  return { keys, called: called.promise, answer: answer.resolve, server };
}

test.concurrent.each([
  ['an ordinary call', { minutes: 1 }],
  ['a short call', { seconds: 5 }],
])('%s whose first attempt begins late is made once', async (_kind, timeout) => {
  const platform = await startTestPlatform({ worker: false });
  const builder = await platform.as('builder');
  const counterpart = await startCounterpart();
  const claim = heldClaim();
  const links = await startLinks(platform, claim.onPassing);
  const first = await startProgram('worker', platform, links.settings);
  const agent = await registeredAgent(builder, { configuration: { endpoint: counterpart.server.url } });
  const run = await startRun(builder, { do: [{ call: agentTask(agent.id, { timeout }) }] });
  await claim.held;
  links.toTemporal.set({ kind: 'cut' });
  const second = await startProgram('worker', platform);
  await counterpart.called;
  claim.release();
  await claim.answered;
  // It would call at once.
  await sleep(1_000);
  const called = counterpart.keys.length;
  counterpart.answer();
  const ended = await endOf(builder, run);
  const [record] = await platform.orm.em
    .fork()
    .execute<{ result: unknown }[]>('select result from invocation where run_id = ?', [run['id']]);
  await Promise.all([first.kill(), second.kill()]);
  await Promise.all([links.close(), counterpart.server.close()]);
  await platform.close();
  expect({ called, status: ended['status'], output: ended['output'] }).toEqual({
    called: 1,
    status: 'completed',
    output: { n: 1 },
  });
  expect(record?.result).toMatchObject({ output: { n: 1 } });
});
