/** What calls of MCP and OpenAI that wait for a run get from its log. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pino } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import { followRun } from '../../../api/protocol-calls/follow-run.ts';
import { EVENT } from '../../../contracts/run-events.ts';
import { createRunEventWatcher, type RunEventWatcher } from '../../../db/run-event-watcher.ts';
import type { Actor } from '../../../domain/auth/actor.ts';
import { appendEvents, serviceEvent } from '../../../domain/runs/events.ts';
import { startTestApp, type TestApp } from '../../support/app.ts';
import { insertRun } from '../../support/human-tasks.ts';

let app: TestApp;
let runEvents: RunEventWatcher;
let runner: Actor;
let other: Actor;

beforeAll(async () => {
  app = await startTestApp();
  runEvents = createRunEventWatcher(app.databaseUrl, pino({ level: 'silent' }));
  const [one, two] = [await app.createUser({ roles: ['viewer'] }), await app.createUser()];
  runner = { id: one.id, username: one.username, roles: ['viewer'], groups: [] };
  other = { id: two.id, username: two.username, roles: ['builder'], groups: [] };
});
afterAll(async () => {
  await runEvents.stop();
  await app.close();
});

/** A run of the runner's, of a private workflow of somebody else's if `byGrant`. */
async function runWithLog(byGrant: boolean): Promise<string> {
  const id = await insertRun(app.orm, { owner: runner.id });
  const em = app.orm.em.fork();
  if (byGrant) await em.execute('update run set by_grant = true where id = ?', [id]);
  const events = ['inner step', 'another'].map((message) =>
    serviceEvent({ key: uuidv7(), type: 'io.cadenza.test.note.v1', message }),
  );
  const end = serviceEvent({ key: 'run:ended', type: EVENT.runCompleted, message: 'done' });
  const batch = { events: [...events, end], projection: null, acks: [] };
  await em.transactional((tx) => appendEvents(tx, id, batch, { end: { status: 'completed', output: {} } }));
  return id;
}

async function followed(actor: Actor, runId: string): Promise<{ messages: string[]; end: string }> {
  const waiting = {
    deps: { orm: app.orm, runEvents, isStopping: () => false },
    session: { actor, signal: new AbortController().signal, recheck: async () => {} },
    gone: new AbortController().signal,
  };
  const following = followRun(waiting, { runId, after: 0, untilMs: performance.now() + 10_000 });
  const messages: string[] = [];
  for (;;) {
    const { value, done } = await following.next();
    if (done) return { messages, end: value };
    expect(value.inside || value.events.length === 0).toBe(true);
    messages.push(...value.events.map(({ message }) => message));
  }
}

test('whoever may see inside a run gets its log', async () => {
  const run = await runWithLog(false);
  expect(await followed(runner, run)).toEqual({
    messages: ['inner step', 'another', 'done'],
    end: 'ended',
  });
});

test('a runner hears when the run ends, and nothing from inside', async () => {
  const run = await runWithLog(true);
  expect(await followed(runner, run)).toEqual({ messages: [], end: 'ended' });
});

test('who may not see the run gets nothing', async () => {
  for (const byGrant of [false, true])
    await expect(followed(other, await runWithLog(byGrant))).rejects.toMatchObject({ kind: 'not_found' });
});
