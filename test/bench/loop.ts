/**
 * A loop of 100,000 iterations in one run, and the memory of its worker, which is a program of its own:
 * `npm run bench:loop [iterations]`, with `--write` into docs/benchmarks.md.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { writeDocsSection } from '../support/docs-section.ts';
import { startOwnPlatform } from '../support/own-platform.ts';
import { startProgram } from '../support/programs.ts';
import { residentKib } from './beside/processes.ts';

const iterations = Number(process.argv.slice(2).find((argument) => /^\d+$/.test(argument)) ?? 100_000);
const PARTS = 10;
const SAMPLE_MS = 500;

const env = { RUN_MAX_EVENTS: '10000000' };
const platform = await startOwnPlatform({ env, worker: false });
const worker = await startProgram('worker', platform, env);
const client = await platform.as('builder');

const definition = {
  do: [
    {
      count: {
        for: { each: 'n', in: `\${ [range(${iterations})] }` },
        do: [{ add: { set: { sum: '${ .sum + $n }' } } }],
      },
    },
  ],
};
const { body: workflow } = await client.post('/workflows', { name: 'loop', definition });
const begun = performance.now();
const { body: run } = await client.post(`/workflows/${workflow.id}/run`, { input_params: { sum: 0 } });

/** The most memory by tenths of the loop. */
const peaks = Array.from({ length: PARTS }, () => 0);
let ended: { status: string; error: unknown; output: unknown } | null = null;
while (ended === null) {
  await sleep(SAMPLE_MS);
  const [row] = await platform.orm.em
    .fork()
    .execute<{ done: number; status: string }[]>(
      `select r.status, least(1, r.task_count::float8 / ?) as done from run r where r.id = ?`,
      [iterations, run.id],
    );
  const part = Math.min(PARTS - 1, Math.floor((row?.done ?? 0) * PARTS));
  peaks[part] = Math.max(peaks[part] ?? 0, residentKib(worker.pid()) / 1024);
  const { body } = await client.get(`/runs/${run.id}`);
  if (body.finished_at !== null) ended = body;
}
const seconds = (performance.now() - begun) / 1_000;
if (ended.status !== 'completed') throw new Error(JSON.stringify(ended));

const lines = [
  `\`npm run bench:loop\`, Node ${process.versions.node}, ${new Date().toISOString().slice(0, 10)}: one ` +
    `run whose \`for\` sets a value ${iterations.toLocaleString('en-US')} times, in ` +
    `${Math.round(seconds)} s (${Math.round(iterations / seconds)} iterations/s), with PostgreSQL, ` +
    'Temporal and the API on the same two cores. The most memory of the worker ' +
    '(resident, MiB) in each tenth of the loop:',
  '',
  `| ${peaks.map((_, part) => `${(part + 1) * (100 / PARTS)} %`).join(' | ')} |`,
  `| ${peaks.map(() => '---:').join(' | ')} |`,
  `| ${peaks.map((peak) => Math.round(peak)).join(' | ')} |`,
];
console.log(lines.join('\n'));
if (process.argv.includes('--write'))
  await writeDocsSection({
    file: 'docs/benchmarks.md',
    name: 'loop',
    script: 'bench:loop',
    body: `## A long loop\n\n${lines.join('\n')}`,
  });
await worker.kill();
await platform.close();
process.exit(0);
