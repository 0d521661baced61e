/** An external worker of the typed client, against a server in memory. */
import { afterEach, expect, jest, test } from '@jest/globals';

import { createClient, createWorker, type JobEnd } from '../../../client/index.ts';

afterEach(() => void jest.restoreAllMocks());

/** Hands out as many jobs, one at a time, and then none. */
function clientWith(jobs: number, sent: { path: string; body: any }[]): ReturnType<typeof createClient> {
  return createClient({
    baseUrl: 'http://server.test',
    fetch: async (url, init) => {
      const { pathname: path } = new URL(url instanceof Request ? url.url : url);
      sent.push({ path, body: await new Response(init?.body).json() });
      if (!path.endsWith('/poll')) return Response.json({});
      if (jobs-- > 0)
        return Response.json([{ id: `job-${jobs}`, input: jobs, attempt: 1, lease_seconds: 60 }]);
      return new Promise((_, reject) => {
        init?.signal?.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
      });
    },
  });
}

const endings = (sent: { path: string; body: any }[]) => sent.filter(({ path }) => !path.endsWith('/poll'));

async function workThrough(jobs: number, handler: () => unknown) {
  const sent: { path: string; body: any }[] = [];
  const ended = Promise.withResolvers<void>();
  let left = jobs;
  const worker = createWorker({
    client: clientWith(jobs, sent),
    agents: ['a'],
    async handler() {
      if (--left === 0) setTimeout(ended.resolve, 50);
      return handler();
    },
  });
  await ended.promise;
  return { worker, sent };
}

test('a worker leaves nothing at its signals, however many jobs it has done', async () => {
  let listeners = 0;
  const { addEventListener: add, removeEventListener: remove } = EventTarget.prototype;
  jest.spyOn(EventTarget.prototype, 'addEventListener').mockImplementation(function (
    this: EventTarget,
    ...args: Parameters<typeof add>
  ) {
    listeners++;
    return add.apply(this, args);
  });
  jest.spyOn(EventTarget.prototype, 'removeEventListener').mockImplementation(function (
    this: EventTarget,
    ...args: Parameters<typeof remove>
  ) {
    listeners--;
    return remove.apply(this, args);
  });
  const { worker, sent } = await workThrough(40, async () => {
    await new Promise((resolve) => setTimeout(resolve, 1));
  });
  expect(endings(sent)).toHaveLength(40);
  expect(listeners).toBeLessThan(5);
  await worker.stop();
});

test('an error with what no JSON text may have is reported all the same', async () => {
  const { worker, sent } = await workThrough(1, () => {
    throw new Error(`jam\0med ${'x'.repeat(1_992)}\u{1f600}`);
  });
  const [{ path, body } = { path: '', body: null }] = endings(sent);
  expect(path).toBe('/jobs/job-0/fail');
  expect(body.detail).toMatch(/^jammed x+\ufffd$/);
  await worker.stop();
});

test('what a job has used is told with its end, also if it fails', async () => {
  const sent: { path: string; body: any }[] = [];
  const both = Promise.withResolvers<void>();
  const worker = createWorker({
    client: clientWith(2, sent),
    agents: ['a'],
    handler({ input }, { used }) {
      used({ cost_usd: 1 });
      used({ cost_usd: 0.25, input_tokens: 3 });
      if (input !== 0) throw new Error('jammed');
      setTimeout(both.resolve, 50);
      return 'done';
    },
  });
  await both.promise;
  const usage = { cost_usd: 0.25, input_tokens: 3 };
  expect(endings(sent)).toEqual([
    { path: '/jobs/job-1/fail', body: { detail: 'jammed', attempt: 1, usage } },
    { path: '/jobs/job-0/complete', body: { output: 'done', attempt: 1, usage } },
  ]);
  await worker.stop();
});

test('each job that has ended is told, with its error; a refused output with its places', async () => {
  const refusal = {
    detail: '/output/sum: must be a number',
    errors: [{ pointer: '/output/sum', code: 'wrong_type', message: 'must be a number' }],
  };
  let left = 3;
  const client = createClient({
    baseUrl: 'http://server.test',
    fetch: async (url, init) => {
      const { pathname: path } = new URL(url instanceof Request ? url.url : url);
      const body = (await new Response(init?.body).json()) as { output?: { sum: unknown } };
      if (path.endsWith('/complete') && body.output?.sum === 'x')
        return Response.json(refusal, { status: 422 });
      if (!path.endsWith('/poll')) return Response.json({});
      if (left > 0)
        return Response.json([{ id: `job-${left}`, input: left--, attempt: 1, lease_seconds: 60 }]);
      return new Promise((_, reject) => {
        init?.signal?.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
      });
    },
  });
  const ends: JobEnd[] = [];
  const all = Promise.withResolvers<void>();
  const worker = createWorker({
    client,
    agents: ['a'],
    handler({ input }) {
      if (input === 2) throw new Error('jammed');
      return { sum: input === 1 ? 'x' : input };
    },
    onEnd(end) {
      if (ends.push(end) === 3) all.resolve();
    },
  });
  await all.promise;
  await worker.stop();
  expect(ends).toMatchObject([
    { job: { id: 'job-3' }, tookMs: expect.any(Number) },
    { job: { id: 'job-2' }, error: { message: 'jammed' } },
    { job: { id: 'job-1' }, error: { failure: { retry: false }, cause: { errors: refusal.errors } } },
  ]);
  expect(ends[0]).not.toHaveProperty('error');
});
