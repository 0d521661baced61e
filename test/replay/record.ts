/**
 * Records the histories that histories.test.ts replays: `npm run record:histories [name …]`. Only files that
 * not exist yet are written, so that a history of earlier code is kept; remove a file to record it again.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../../db/migrate.ts';
import { startPostgres } from '../../dev/postgres.ts';
import { startTemporal } from '../../dev/temporal.ts';
import { createTemporalClient } from '../../temporal/client.ts';
import { startTestPlatform, type RunRecord } from '../support/platform.ts';
import { IMAGE, startContainerEngine } from '../support/container-engine.ts';
import { runFolderVariable } from '../support/run-folder.ts';
import { historyToText, type History } from './history-file.ts';
import { CONTAINER_SCENARIOS, scenarios, startCounterpart } from './scenarios.ts';

const histories = join(import.meta.dirname, 'histories');
/** No worker serves this queue. */
const UNSERVED = {
  SANDBOX_ENGINE: 'unix:///none',
  SANDBOX_SHELL_IMAGE: 'none',
  SANDBOX_TASK_QUEUE: 'sandbox',
};
const only = process.argv.slice(2);
const wanted = Object.keys(scenarios).filter((name) => only.length === 0 || only.includes(name));
const folder = mkdtempSync(join(tmpdir(), 'cadenza-histories-'));
// What the tests' helpers share in a run.
process.env[runFolderVariable] = folder;

// A loop of a few turns continues in a new execution.
const server = await startTemporal({
  dataDir: join(folder, 'temporal'),
  port: 0,
  uiPort: 0,
  throwaway: true,
  dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': 40 },
});
const counterpart = await startCounterpart();
const engine = wanted.some((name) => CONTAINER_SCENARIOS.includes(name))
  ? await startContainerEngine('own')
  : '';
if (typeof engine === 'string' && engine !== '') process.stdout.write(`without containers: ${engine}\n`);
const { connection, workflow } = createTemporalClient({ address: server.address, namespace: 'default' });

try {
  const inContainers = wanted.filter((name) => CONTAINER_SCENARIOS.includes(name));
  const others = wanted.filter((name) => !inContainers.includes(name));
  if (typeof engine !== 'string') await recordAll(inContainers, settingsOf(engine.address));
  if (others.length > 0) await recordAll(others, UNSERVED);
} finally {
  await connection.close();
  await counterpart.close();
  await Promise.all([server.stop(), typeof engine === 'string' ? null : engine.stop()]);
  rmSync(folder, { recursive: true, force: true });
}

/** On a platform with these settings, which has a database of its own. */
async function recordAll(names: readonly string[], env: Record<string, string>): Promise<void> {
  const postgres = await startPostgres({ dataDir: mkdtempSync(join(folder, 'postgres-')), throwaway: true });
  await migrate(postgres.url);
  const platform = await startTestPlatform({
    servers: {
      database: { url: postgres.url, drop: async () => {} },
      temporal: { address: server.address, namespace: 'default', uiUrl: '', taskQueue: 'cadenza' },
    },
    dataConverter: {},
    env,
  });
  try {
    for (const name of names) {
      const runs = (await scenarios[name]?.({ platform, counterpart, temporal: workflow })) ?? {};
      for (const [part, run] of Object.entries(runs))
        await record(part === '' ? name : `${name}-${part}`, run);
    }
  } finally {
    await platform.close();
    await postgres.stop();
  }
}

function settingsOf(address: string): Record<string, string> {
  return {
    SANDBOX_ENGINE: address,
    SANDBOX_IMAGES: IMAGE,
    SANDBOX_PULL: 'never',
    SANDBOX_SHELL_IMAGE: IMAGE,
  };
}

/** One file for each execution of the run, of which continue-as-new gives several. */
async function record(name: string, run: RunRecord): Promise<void> {
  // The run's row is closed within its last workflow task, so a moment before the execution.
  await workflow
    .getHandle(run['temporal'].workflow_id)
    .result()
    .catch(() => {});
  let execution: string | null | undefined = run['temporal'].run_id;
  for (let part = 1; execution; part++) {
    const history: History = await workflow.getHandle(run['temporal'].workflow_id, execution).fetchHistory();
    execution = history.events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes?.newExecutionRunId;
    const file = `${name}${part > 1 || execution ? `-${part}` : ''}.json`;
    if (existsSync(join(histories, file))) continue;
    writeFileSync(join(histories, file), historyToText(history));
    process.stdout.write(`${file}\n`);
  }
}
