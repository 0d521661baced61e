/**
 * The first attempt of a call is held on its way to the database, or the answer on its way back. Temporal
 * hears nothing of its worker, and has the call made by another one. Then the first attempt goes on. It must
 * not call again nor take the claim: record and run have the answer of the one call.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { registeredAgent } from '../support/agent-body.ts';
import { agentTask } from '../support/definitions.ts';
import { sendJson, startServer } from '../support/http-server.ts';
import { endOf, startRun, startTestPlatform, type TestPlatform } from '../support/platform.ts';
import { startProgram, type Program } from '../support/programs.ts';
import { startLink, type OnPassing } from './long-run/link.ts';

/** The first statement that claims a key waits, or its answer, with its connection, until it is let go. */
function heldClaim(what: 'statement' | 'answer') {
  const [held, release, answered] = [0, 1, 2].map(() => Promise.withResolvers<void>());
  if (!held || !release || !answered) throw new Error('no promises');
  let holds: unknown = null;
  const hold = (): Promise<void> => {
    held.resolve();
    return release.promise;
  };
  const onPassing: OnPassing = ({ connection, from, bytes }) => {
    if (holds === null && from === 'client' && /[0-9a-f]{12}:\/do\/0/.test(bytes.toString('latin1'))) {
      holds = connection;
      return what === 'statement' ? hold() : undefined;
    }
    if (holds !== connection || from !== 'server') return undefined;
    answered.resolve();
    return what === 'answer' ? hold() : undefined;
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

/** A worker, the counterpart, and a run whose call the worker is about to make. */
async function startScene(task: object, held: 'statement' | 'answer') {
  const platform = await startTestPlatform({ worker: false });
  const builder = await platform.as('builder');
  const counterpart = await startCounterpart();
  const claim = heldClaim(held);
  const links = await startLinks(platform, claim.onPassing);
  const first = await startProgram('worker', platform, links.settings);
  const agent = await registeredAgent(builder, { configuration: { endpoint: counterpart.server.url } });
  const run = await startRun(builder, { do: [{ call: { ...agentTask(agent.id), ...task } }] });
  await claim.held;
  return { platform, builder, counterpart, claim, links, first, run };
}

/** Once the first attempt has gone on. @returns what has become of the call, in all places that tell */
async function outcomeOf(
  { platform, builder, counterpart, links, first, run }: Awaited<ReturnType<typeof startScene>>,
  second: Program,
) {
  await sleep(1_000);
  counterpart.answer();
  const ended = await endOf(builder, run);
  // What the first one has begun ends before it does.
  await first.stop();
  const called = counterpart.keys.length;
  const [record] = await platform.orm.em
    .fork()
    .execute<{ result: unknown }[]>('select result from invocation where run_id = ?', [run['id']]);
  await second.kill();
  await Promise.all([links.close(), counterpart.server.close()]);
  await platform.close();
  return { called, status: ended['status'], output: ended['output'], recorded: record?.result };
}

const ONE_CALL = {
  called: 1,
  status: 'completed',
  output: { n: 1 },
  recorded: expect.objectContaining({ output: { n: 1 } }),
};
/** Within a task with a timeout, a call is ordinary. */
const KINDS = [
  ['an ordinary call', { timeout: { after: { minutes: 5 } } }],
  ['a short call', {}],
] as const;

test.concurrent.each(KINDS)('%s whose first attempt begins late is made once', async (_kind, task) => {
  const scene = await startScene(task, 'statement');
  const { platform, counterpart, claim, links } = scene;
  links.toTemporal.set({ kind: 'cut' });
  const second = await startProgram('worker', platform);
  await counterpart.called;
  claim.release();
  await claim.answered;
  expect(await outcomeOf(scene, second)).toEqual(ONE_CALL);
});

test.concurrent.each(KINDS)('%s of a worker that was frozen before it is made once', async (_kind, task) => {
  const scene = await startScene(task, 'answer');
  const { platform, counterpart, claim, first } = scene;
  process.kill(first.pid(), 'SIGSTOP');
  claim.release();
  const second = await startProgram('worker', platform);
  await counterpart.called;
  process.kill(first.pid(), 'SIGCONT');
  expect(await outcomeOf(scene, second)).toEqual(ONE_CALL);
});
