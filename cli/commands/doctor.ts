/** Finds out why something does not work, and says what to do. */
import { statSync } from 'node:fs';

import { ApiError } from '../../client/index.ts';
import type { Cli } from '../core/cli.ts';
import { command } from '../core/command.ts';
import { CliError, EXIT } from '../core/errors.ts';
import { findingView, type Finding } from '../core/findings.ts';
import { send } from '../core/oauth.ts';
import { cliVersion, readinessOf } from './status.ts';

/** The start of the versions of the API that the client was generated from. */
const API_VERSION = '1.';
/** Tokens are refused when the clocks differ by more. */
const CLOCK_MS = 30_000;

export const doctorCommand = command({
  brief: 'Check configuration, server, clock, session and versions; exits with 3 if something is wrong',
  run: async (cli) => {
    const findings = [configuration(cli), ...(await server(cli))];
    await cli.out.list(findings, findingView);
    return findings.some(({ status }) => status === 'error') ? EXIT.no : EXIT.good;
  },
});

function configuration(cli: Cli): Finding {
  const check = 'configuration';
  const { path } = cli.config;
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return { check, status: 'ok', detail: `${path} does not exist yet` };
  if ((found.mode & 0o077) === 0) return { check, status: 'ok', detail: path };
  return { check, status: 'error', detail: `Others can read ${path}. Run: chmod 600 ${path}` };
}

async function server(cli: Cli): Promise<Finding[]> {
  const { url } = cli.session;
  let sent = Date.now();
  let health: Response;
  try {
    health = await send(`${url}/healthz`, { signal: cli.signal });
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const hint = `${error.message} Start it with npm start, or name another one: cadenza config set url URL`;
    return [{ check: 'server', status: 'error', detail: hint }];
  }
  sent = (sent + Date.now()) / 2;
  const type = health.headers.get('content-type') ?? 'nothing';
  if (!health.ok || !type.includes('json')) {
    const answer = health.ok ? type : `status ${health.status}`;
    const detail = `${url}/healthz answers with ${answer}: is this the address of Cadenza?`;
    return [{ check: 'server', status: 'error', detail }];
  }
  return [
    { check: 'server', status: 'ok', detail: url },
    clock(health.headers.get('date'), sent),
    ...(await readiness(cli)),
    ...(await session(cli)),
    await versions(cli),
  ];
}

function clock(date: string | null, now: number): Finding {
  const ms = date === null ? 0 : Date.parse(date) - now;
  const seconds = Math.round(Math.abs(ms) / 1_000);
  const detail = ms > 0 ? `${seconds} s behind the server` : `${seconds} s ahead of the server`;
  if (Math.abs(ms) <= CLOCK_MS) return { check: 'clock', status: 'ok', detail: 'agrees with the server' };
  return { check: 'clock', status: 'error', detail: `This clock is ${detail}. Correct it, or log-in fails.` };
}

async function readiness(cli: Cli): Promise<Finding[]> {
  const { status, checks, problems = [] } = await readinessOf(cli);
  const fine = status === 'ok' ? 'ok' : status === 'degraded' ? 'warn' : 'error';
  const parts = Object.entries(checks).map(([part, state]): Finding => {
    const isFine = state === 'ok';
    // `server` is the address that answered.
    const check = part === 'server' ? 'api' : part;
    return { check, status: isFine ? 'ok' : fine === 'ok' ? 'warn' : fine, detail: isFine ? '' : state };
  });
  const words = problems.map((detail): Finding => ({ check: 'what to do', status: fine, detail }));
  return [...parts, ...words];
}

async function session(cli: Cli): Promise<Finding[]> {
  const check = 'session';
  try {
    await cli.requireLogIn();
    const { username, roles } = await cli.client.call('getMe');
    const detail = `${username} (${roles.join(', ')}), from ${cli.session.source}`;
    return [{ check, status: 'ok', detail }, ...(roles.includes('admin') ? await backups(cli) : [])];
  } catch (error) {
    if (!(error instanceof CliError || error instanceof ApiError)) throw error;
    return [{ check, status: 'error', detail: `${error.message} Run: cadenza login ${cli.session.url}` }];
  }
}

/** Only administrators may see them; a session may be limited to less. */
async function backups(cli: Cli): Promise<Finding[]> {
  const check = 'backup';
  try {
    const { complete, warning } = await cli.client.call('getLatestBackups');
    if (warning !== null) return [{ check, status: 'warn', detail: warning }];
    return [{ check, status: 'ok', detail: `the last is of ${complete?.started_at ?? ''}` }];
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) return [];
    throw error;
  }
}

async function versions(cli: Cli): Promise<Finding> {
  const { info } = await cli.anonymous.call('getOpenApi');
  const api =
    typeof info === 'object' && info !== null && 'version' in info ? String(info.version) : 'unknown';
  const detail = `release ${cliVersion()} of the command line, version ${api} of the API (numbered apart)`;
  if (api.startsWith(API_VERSION)) return { check: 'versions', status: 'ok', detail };
  const hint = `This command line speaks version ${API_VERSION}x of the API. Use the one of the server.`;
  return { check: 'versions', status: 'warn', detail: `${detail}. ${hint}` };
}
