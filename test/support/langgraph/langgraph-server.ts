/** LangGraph's development server with the graph of this folder. Its packages come from PyPI, once. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brokerFolder, cacheFolder, removeFolder, startBroker } from '../brokers/broker-process.ts';
import { ownPort } from '../machine.ts';

const VERSION = '0.4.40';
const FETCH_MS = 240_000;
const FILES = ['graph.py', 'langgraph.json'];

export interface LangGraphServer {
  url: string;
  stop(): Promise<void>;
}

/** Or why there is none. */
export async function startLangGraph(): Promise<LangGraphServer | string> {
  const packages = fetchPackages();
  if (packages.hindrance !== undefined) return packages.hindrance;
  const folder = brokerFolder();
  for (const file of FILES) cpSync(join(import.meta.dirname, file), join(folder, file));
  const port = await ownPort();
  const where = ['--host', '127.0.0.1', '--port', String(port), '--config', join(folder, 'langgraph.json')];
  const how = ['--no-browser', '--no-reload', '--n-jobs-per-worker', '10'];
  const env = { LANGGRAPH_CLI_NO_ANALYTICS: '1', LANGSMITH_TRACING: 'false' };
  try {
    const server = await startBroker(packages.python, ['-m', 'langgraph_cli', 'dev', ...where, ...how], {
      ports: [port],
      env,
      cwd: folder,
    });
    return {
      url: `http://127.0.0.1:${port}`,
      async stop() {
        await server.stop();
        removeFolder(folder);
      },
    };
  } catch (error) {
    removeFolder(folder);
    return `LangGraph's server does not start: ${String(error).slice(0, 300)}`;
  }
}

/** An environment of Python in the cache, which is ready or is made again. */
function fetchPackages(): { python: string; hindrance?: string } {
  const folder = cacheFolder(`langgraph-cli-${VERSION}`);
  const python = join(folder, 'bin/python');
  const ready = join(folder, 'ready');
  if (existsSync(ready)) return { python };
  for (const [program, ...args] of [
    ['python3', '-m', 'venv', folder],
    [python, '-m', 'pip', 'install', '--quiet', `langgraph-cli[inmem]==${VERSION}`],
  ]) {
    const { status, stderr } = spawnSync(program ?? '', args, { encoding: 'utf8', timeout: FETCH_MS });
    if (status !== 0) return { python, hindrance: `no LangGraph: ${String(stderr).trim().slice(-200)}` };
  }
  writeFileSync(ready, '');
  return { python };
}
