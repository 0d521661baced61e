/**
 * Times `call: map` over 1,000 items that call a server at once, for several concurrencies, with the length
 * of the longest history. `npm run bench:maps`, with `--write` into docs/benchmarks.md.
 */
import { runWorkflowId } from '../../contracts/temporal.ts';
import { createTemporalClient } from '../../temporal/client.ts';
import { httpTask } from '../support/definitions.ts';
import { writeDocsSection } from '../support/docs-section.ts';
import { sendJson, startServer } from '../support/http-server.ts';
import { startOwnPlatform } from '../support/own-platform.ts';
import { runToEnd } from '../support/platform.ts';

const ITEMS = 1_000;

const service = await startServer((request, response) => sendJson(response, { path: request.path }));
const platform = await startOwnPlatform();
const builder = await platform.as('builder');
const temporal = createTemporalClient(platform.temporal);

async function measure(concurrency: number): Promise<string> {
  const ask = httpTask(`\${ "${service.url}/\\($item)" }`);
  const each = { in: `[range(${ITEMS})]`, concurrency, do: [{ ask }, { keep: { set: '${ .path }' } }] };
  const begun = performance.now();
  const run = await runToEnd(builder, { do: [{ each: { call: 'map', with: each } }] });
  const seconds = (performance.now() - begun) / 1_000;
  if (run['status'] !== 'completed') throw new Error(JSON.stringify(run['error']));
  const query = `WorkflowId = '${runWorkflowId(run['id'])}'`;
  const lengths: number[] = [];
  for await (const { historyLength } of temporal.workflow.list({ query })) lengths.push(historyLength ?? 0);
  const cells = [concurrency, seconds.toFixed(1), Math.round(ITEMS / seconds), lengths.length];
  return `| ${[...cells, Math.max(...lengths)].join(' | ')} |`;
}

await measure(50);
const day = new Date().toISOString().slice(0, 10);
const lines = [
  `\`npm run bench:maps\`, Node ${process.versions.node}, ${day}: one run with ` +
    `${ITEMS.toLocaleString('en-US')} items of two tasks, a call and a \`set\`; PostgreSQL, Temporal, ` +
    'api and worker on the same two cores.',
  '',
  '| at once | seconds | items/s | executions | longest history, events |',
  '| ---: | ---: | ---: | ---: | ---: |',
];
for (const concurrency of [1, 10, 50]) lines.push(await measure(concurrency));
console.log(lines.join('\n'));
if (process.argv.includes('--write'))
  await writeDocsSection({
    file: 'docs/benchmarks.md',
    name: 'maps',
    script: 'bench:maps',
    body: `## Items of a map\n\n${lines.join('\n')}`,
  });
await temporal.connection.close();
await platform.close();
await service.close();
process.exit(0);
