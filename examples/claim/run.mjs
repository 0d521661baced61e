/**
 * Settles a claim: `node examples/claim/run.mjs`, while `npm start` runs. It registers the agents of
 * agents.json, plays everybody outside (players.mjs), and starts a run with the photo and the voice message
 * of evidence.mjs. A person decides in the console; then it prints the output and ends.
 *
 * CADENZA is the address (default: http://127.0.0.1:3000), CADENZA_PASSWORD the password of `admin` (default:
 * that of `npm start` in this folder) or TOKEN a token, PLAYERS where to play (http://127.0.0.1:4001).
 */
import { readFileSync, realpathSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { createApi, logIn, until } from '../api.mjs';
import { message, photo } from './evidence.mjs';
import { startPlayers, work } from './players.mjs';

/** Where agents.json expects them. */
export const PLAYERS = 'http://127.0.0.1:4001';

const DAY_MS = 86_400_000;

const read = (name) => readFileSync(new URL(name, import.meta.url));

/**
 * Adds the agents and workflows that are missing, and plays everybody outside until `close`.
 * @returns `start` begins a run and returns its id; `workflow` is the id of settle-claim; `working` rejects
 * if the external worker cannot go on
 */
export async function setUpClaim({ cadenza, token, players = PLAYERS }) {
  const played = await startPlayers(players);
  try {
    const api = createApi(cadenza, token);
    const records = await addRecords(api, players);
    const agent = records['claim-inspector'];
    const expires_at = new Date(Date.now() + DAY_MS).toISOString();
    const maker = await api('POST', `/agents/${agent}/worker-tokens`, { name: 'house 12', expires_at });
    const stop = new AbortController();
    const working = work({ cadenza, token: maker.token, agent, signal: stop.signal });
    // Whoever asks for it sees it.
    working.catch(() => undefined);
    return {
      workflow: records['settle-claim'],
      working,
      async start() {
        const image = await upload({ cadenza, token }, 'ceiling.png', 'image/png', photo());
        const sound = await upload({ cadenza, token }, 'message.wav', 'audio/wav', message());
        const input = { input_params: { photo: image, message: sound } };
        return (await api('POST', `/workflows/${records['settle-claim']}/run`, input)).id;
      },
      async close() {
        stop.abort();
        await played.close();
        await working.catch(() => undefined);
        // If this fails, the token ends with the day.
        await api('DELETE', `/agents/${agent}/worker-tokens/${maker.id}`).catch(() => undefined);
      },
    };
  } catch (error) {
    await played.close();
    throw error;
  }
}

/** @returns the ids of agents and workflows by name */
async function addRecords(api, players) {
  const { id: owner } = await api('GET', '/users/me');
  const ids = {};
  const addAgent = async (agent) => {
    const known = await api('GET', `/agents?name=${agent.name}&owner_id=${owner}`);
    const { configuration } = agent;
    if (agent.type === 'workflow') configuration.workflow_id = ids[configuration.workflow_id];
    ids[agent.name] = (known[0] ?? (await api('POST', '/agents', agent))).id;
  };
  const addWorkflow = async (name) => {
    const known = await api('GET', `/workflows?q=${name}&limit=200`);
    const mine = known.find((workflow) => workflow.name === name && workflow.owner_id === owner);
    const body = { name, definition: JSON.parse(read(`${name}.json`)), tags: ['example'] };
    ids[name] = (mine ?? (await api('POST', '/workflows', body))).id;
  };
  const agents = JSON.parse(
    String(read('agents.json')).replaceAll(new URL(PLAYERS).host, new URL(players).host),
  );
  // Each comes after what it calls.
  for (const agent of agents.filter(({ type }) => type !== 'workflow')) await addAgent(agent);
  await addWorkflow('pay-out');
  for (const agent of agents.filter(({ type }) => type === 'workflow')) await addAgent(agent);
  await addWorkflow('settle-claim');
  return ids;
}

/** @returns a reference to the file */
async function upload({ cadenza, token }, name, type, body) {
  const response = await fetch(`${cadenza}/files?name=${name}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': type },
    body,
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`POST /files: ${response.status} ${answer.detail}`);
  return { file_id: answer.id };
}

const ENDED = ['completed', 'faulted', 'cancelled'];

/** @returns the run that waits for a person, or that has ended without one */
const untilAsked = (api, run) =>
  until(
    () => api('GET', `/runs/${run}`),
    ({ status, waiting_on = [] }) => waiting_on.length > 0 || ENDED.includes(status),
  );

/** @param renewed gives an api with a new token; a person may take longer than a token lasts */
async function follow(api, renewed, run) {
  let now = api;
  for (;;) {
    try {
      const answer = await now('GET', `/runs/${run}`, undefined, { prefer: 'wait=60' });
      const { status, output, error } = answer;
      if (ENDED.includes(status)) return { status, output, ...(error ? { error } : {}) };
    } catch (error) {
      if (error.status !== 401) throw error;
      now = await renewed();
    }
  }
}

async function main() {
  // oxlint-disable-next-line node/no-process-env -- a script of its own, not a part of the product
  const { env } = process;
  const { CADENZA: cadenza = 'http://127.0.0.1:3000', CADENZA_PASSWORD, TOKEN, PLAYERS: players } = env;
  const say = (text) => process.stdout.write(`${text}\n`);
  const signIn = () => logIn(cadenza, CADENZA_PASSWORD);
  const renewed = async () => {
    if (TOKEN) throw new Error('The token has expired; the run goes on.');
    return createApi(cadenza, await signIn());
  };
  const token = TOKEN ?? (await signIn());
  const api = createApi(cadenza, token);
  const claim = await setUpClaim({ cadenza, token, players });
  try {
    const run = await claim.start();
    say(`run ${run}: ${cadenza}/console/runs/${run}`);
    const { waiting_on: [task] = [] } = await untilAsked(api, run);
    if (task) say(`task ${task.id}: decide it at ${cadenza}/console/inbox`);
    say(JSON.stringify(await Promise.race([follow(api, renewed, run), claim.working]), null, 2));
  } finally {
    await claim.close();
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href)
  await main().catch((error) => {
    const isTaken = error.code === 'EADDRINUSE';
    process.stderr.write(`${isTaken ? `${error.message}: stop the demo, or set PLAYERS` : error.message}\n`);
    process.exitCode = 1;
  });
