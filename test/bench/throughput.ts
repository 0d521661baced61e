/**
 * Runs a second of Cadenza beside the hand-written workflow, each with a worker in a process of its own, and
 * ours with an API in another one, as in production: `npm run bench:throughput [rounds] [runs]`.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createClient } from '../support/app.ts';
import { startProgram } from '../support/programs.ts';
import { inTurns, perSecond } from './beside/in-turns.ts';
import { byHand, inWorld, type World } from './beside/world.ts';

const [rounds = 3, runs = 256] = process.argv.slice(2).map(Number);
const TASK_QUEUE = 'baseline-process';
const STEPS = [1, 10] as const;
const AT_ONCE = [16, 64, 256];

await inWorld(async (world) => {
  await world.platform.stopWorker();
  const [api, worker] = await Promise.all([
    startProgram('api', world.platform),
    startProgram('worker', world.platform),
  ]);
  const entry = fileURLToPath(new URL('baseline/worker.ts', import.meta.url));
  const baseline = fork(entry, [world.temporalAddress, world.agent.url, TASK_QUEUE], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  await once(baseline, 'message');
  try {
    await measure(world, api.url);
  } finally {
    baseline.kill();
    await Promise.all([api.kill(), worker.kill()]);
  }
});
process.exit(0);

async function measure(world: World, url: string): Promise<void> {
  const client = createClient(url, (await world.platform.createUser({ roles: ['builder'] })).token);
  const { body: agent } = await client.post('/agents', {
    name: 'echo in a process',
    type: 'api',
    version: '1.0.0',
    visibility: 'private',
    configuration: { endpoint: world.agent.url },
  });
  const theirs = byHand(world.client, world.agent, TASK_QUEUE);
  process.stdout.write('| steps, at once | Cadenza, runs/s | by hand, runs/s | ratio |\n|---|---|---|---|\n');
  for (const steps of STEPS) {
    const tasks = Array.from({ length: steps }, (_unused, step) => ({
      [`step${step}`]: { call: 'agent', with: { agent: agent.id, input: { step } } },
    }));
    const { body: workflow } = await client.post('/workflows', { name: 'many', definition: { do: tasks } });
    const ours = async (): Promise<void> => {
      const path = `/workflows/${workflow.id}/run`;
      const { body } = await client.post(path, {}, { headers: { prefer: 'wait=60' } });
      if (body.status !== 'completed') throw new Error(JSON.stringify(body));
    };
    for (const atOnce of AT_ONCE) {
      const rate = (work: () => Promise<unknown>) => () => perSecond(work, runs, atOnce);
      const work = { ours: rate(ours), hand: rate(() => theirs.byHand('sequence', steps)) };
      await inTurns(work, 1);
      const { ours: our, hand } = await inTurns(work, rounds);
      const figures = [our, hand, our / hand].map((figure) => figure.toFixed(2));
      process.stdout.write(`| ${steps}, ${atOnce} | ${figures.join(' | ')} |\n`);
    }
  }
}
