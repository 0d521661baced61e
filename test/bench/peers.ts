/**
 * Cadenza and a hand-written Temporal workflow beside other systems that do the same work, durable, on the
 * same machine, in turns: `npm run bench:peers [name…] [-- --rounds 3 --seconds 30 --measures
 * steps,runs,decision,list]`. It fetches what is missing from npm, PyPI and Maven into the user's cache. A
 * peer that cannot run is skipped, and the last lines say why.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { startBroker, type BrokerProcess } from '../support/brokers/broker-process.ts';
import { statOf } from './beside/processes.ts';
import { startWorld, type World } from './beside/world.ts';
import { startConductor } from './peers/conductor.ts';
import { startLangGraph } from './peers/langgraph.ts';
import { measurePeer, MEASURES, type Effort } from './peers/measure.ts';
import type { PeerSurroundings, StartPeer } from './peers/peer.ts';
import { startPrefect } from './peers/prefect.ts';
import { startRestate } from './peers/restate.ts';
import { tableOf, type MeasuredPeer } from './peers/table.ts';

const PEERS: Record<string, StartPeer> = {
  restate: startRestate,
  conductor: startConductor,
  prefect: startPrefect,
  langgraph: startLangGraph,
};
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '30' },
    measures: { type: 'string', default: MEASURES.join(',') },
  },
});
const chosen = values.measures.split(',');
const effort: Effort = {
  measures: MEASURES.filter((name) => chosen.includes(name)),
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
};
const names = positionals.length > 0 ? positionals : Object.keys(PEERS);
const unknown = names.filter((name) => !Object.hasOwn(PEERS, name));
if (unknown.length > 0)
  throw new Error(`unknown: ${unknown.join(', ')}; there are ${Object.keys(PEERS).join(', ')}`);

const folder = mkdtempSync(join(tmpdir(), 'cadenza-peers-'));
const world = await startWorld();
/** Of the peer that is measured. */
let processes: Promise<BrokerProcess>[] = [];
let stopped: Promise<void> | null = null;
const end = async (code: number): Promise<never> => {
  stopped ??= (async () => {
    await endProcesses();
    await world.stop();
    process.off('exit', killServers);
    rmSync(folder, { recursive: true, force: true });
  })();
  await stopped;
  process.exit(code);
};
/** An error that nobody catches, in the middle of requests, ends this process before `end` is through. */
function killServers(): void {
  for (const pid of Object.values(world.pids)) if (statOf(pid).length > 0) process.kill(pid, 'SIGQUIT');
}
process.once('exit', killServers);
process.once('SIGINT', () => void end(130)).once('SIGTERM', () => void end(143));

const measured: MeasuredPeer[] = [];
const skipped: string[] = [];
for (const name of names) {
  try {
    const peer = await PEERS[name]!(surroundingsOf(world));
    process.stderr.write(`measuring ${peer.name}\n`);
    const { figures, failed } = await measurePeer(world, peer, effort);
    measured.push({ name: peer.name, figures });
    // Kept if what follows does not end well.
    process.stderr.write(`${tableOf(measured.slice(-1))}\n`);
    skipped.push(...failed.map((reason) => `${name}: not measured: ${reason}`));
  } catch (error) {
    skipped.push(`${name}: skipped: ${error instanceof Error ? error.message : String(error)}`);
  } finally {
    await endProcesses();
  }
}
if (measured.length > 0) process.stdout.write(`${tableOf(measured)}\n`);
for (const line of skipped) process.stdout.write(`${line}\n`);
await end(measured.length > 0 ? 0 : 1);

/** Also those that are still starting. */
async function endProcesses(): Promise<void> {
  const started = await Promise.allSettled(processes);
  processes = [];
  for (const result of started) if (result.status === 'fulfilled') await result.value.stop();
}

function surroundingsOf({ platform, agent }: World): PeerSurroundings {
  return {
    folder,
    agentUrl: agent.url,
    async createDatabase(name) {
      const client = new pg.Client({ connectionString: platform.databaseUrl });
      await client.connect();
      await client.query(`create database ${client.escapeIdentifier(name)}`);
      await client.end();
      const url = new URL(platform.databaseUrl);
      url.pathname = `/${name}`;
      return url;
    },
    start(...process) {
      const started = startBroker(...process);
      processes.push(started);
      return started;
    },
  };
}
