/**
 * How the API answers others while somebody attacks it: `npm run bench:hostile [minutes] [attack,attack]
 * [together]`; `together` leaves out the attacks alone.
 * Starts a whole Cadenza as `npm start` does, measures an ordinary user's requests in quiet, for 15 s under
 * each attack of `attacks.ts` alone, and for the given time under all of them at once. Prints one JSON line
 * with medians, 95th percentiles and the API's memory.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { createClient, type Client } from '../../support/app.ts';
import { upFolder } from '../../support/up-process.ts';
import { residentKib } from '../beside/processes.ts';
import { attacks, type Target } from './attacks.ts';

const minutes = Number(process.argv[2] ?? 10);
const chosen = process.argv[3]?.split(',') ?? Object.keys(attacks);
const onlyTogether = process.argv[4] === 'together';
const PASSWORD = 'an ordinary password';
/**
 * Attackers use up the requests without a token of their address, so the ordinary user logs in from another.
 */
const fromElsewhere = new Agent({ localAddress: '127.0.0.2' });
const folder = upFolder();
const up = folder.start(
  { ADMIN_PASSWORD: PASSWORD },
  { program: join(import.meta.dirname, '../../../dev/up.ts') },
);

try {
  const url = await up.ready(300_000);
  const grpc = /A2A \(gRPC\) +(\S+)/.exec(up.output())?.[1] ?? '';
  const admin = createClient(url, await tokenOf(url, 'admin'));
  const tokens = await createPeople(url, admin);
  const work = await ordinaryWork(url, tokens.victim);
  const quiet = await measure(work, 30_000);
  const target: Target = { url, grpc, viewerToken: tokens.viewer, builderToken: tokens.attacker };
  const alone: Record<string, string> = {};
  for (const name of onlyTogether ? [] : chosen) {
    const { result } = await attacked(target, [name], () => measure(work, 15_000));
    alone[name] = `${result.median_ms} / ${result.p95_ms}`;
  }
  // A token lives for 15 minutes.
  work.token = await tokenOf(url, 'victim');
  const { result: hostile, rounds } = await attacked(target, chosen, () => measure(work, minutes * 60_000));
  console.log(
    JSON.stringify(
      {
        minutes,
        quiet,
        alone,
        hostile,
        rounds,
        api_rss_mib: Math.round(residentKib(folder.pidOf('api')) / 1024),
      },
      null,
      1,
    ),
  );
} finally {
  await fromElsewhere.close();
  await folder.clean();
}

async function tokenOf(url: string, username: string): Promise<string> {
  const reply = await request(`${url}/auth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username, password: PASSWORD }),
    dispatcher: fromElsewhere,
  });
  const body = (await reply.body.json()) as { access_token: string };
  if (reply.statusCode !== 200) throw new Error(JSON.stringify(body));
  return body.access_token;
}

async function createPeople(
  url: string,
  admin: Client,
): Promise<Record<'victim' | 'viewer' | 'attacker', string>> {
  const make = async (username: string, role: string): Promise<string> => {
    const reply = await admin.post('/users', {
      username,
      email: `${username}@example.com`,
      password: PASSWORD,
      roles: [role],
    });
    if (reply.status !== 201) throw new Error(JSON.stringify(reply.body));
    return tokenOf(url, username);
  };
  const victim = await make('victim', 'builder');
  return { victim, viewer: await make('viewer', 'viewer'), attacker: await make('attacker', 'builder') };
}

type Work = {
  request: (client: Client) => Promise<{ status: number }>;
  url: string;
  token: string;
};

/**
 * The requests of a person at a screen, one after another: profile, lists, one record, a list of human tasks.
 */
async function ordinaryWork(url: string, token: string): Promise<Work> {
  const client = createClient(url, token);
  const definition = { do: [{ first: { set: { a: 1 } } }] };
  const workflow = await client.post('/workflows', { name: 'ordinary', definition });
  const paths = [
    '/users/me',
    '/workflows',
    '/agents',
    '/hitl/tasks',
    '/runs',
    `/workflows/${workflow.body.id}`,
  ];
  let next = 0;
  return {
    url,
    token,
    request: (as) => as.get(paths[next++ % paths.length] ?? '/users/me'),
  };
}

interface Measured {
  requests: number;
  failed: Record<string, number>;
  median_ms: number;
  p95_ms: number;
  longest_ms: number;
}

/** Ten requests a second, one at a time. A token lives for 15 minutes and is renewed every ten. */
async function measure(work: Work, forMs: number): Promise<Measured> {
  const times: number[] = [];
  const failed: Record<string, number> = {};
  for (const startedMs = Date.now(); Date.now() - startedMs < forMs; await sleep(100)) {
    const askedMs = performance.now();
    const { status } = await work.request(createClient(work.url, work.token)).catch(() => ({ status: 0 }));
    times.push(performance.now() - askedMs);
    if (status !== 200) failed[status] = (failed[status] ?? 0) + 1;
  }
  const sorted = times.toSorted((a, b) => a - b);
  const at = (share: number): number =>
    Math.round(10 * (sorted[Math.floor(sorted.length * share)] ?? 0)) / 10;
  return { requests: times.length, failed, median_ms: at(0.5), p95_ms: at(0.95), longest_ms: at(0.9999) };
}

async function attacked<T>(
  target: Target,
  names: string[],
  run: () => Promise<T>,
): Promise<{ result: T; rounds: unknown }> {
  const program = join(import.meta.dirname, 'attacker.ts');
  const child = spawn(process.execPath, ['--no-warnings', program, JSON.stringify(target), names.join(',')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const exited = new Promise((resolve) => child.once('exit', resolve));
  try {
    const result = await run();
    child.kill('SIGTERM');
    await Promise.race([exited, sleep(30_000)]);
    return { result, rounds: output === '' ? null : JSON.parse(output) };
  } finally {
    child.kill('SIGKILL');
  }
}
