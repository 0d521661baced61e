/**
 * A real S3-compatible server: `versitygw` if it is on PATH, else moto from PyPI, kept in the cache folder;
 * or the reason why there is none.
 */
import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { ownPort } from './machine.ts';
import type { S3Settings } from '../../adapters/file-stores/s3-client.ts';

const run = promisify(execFile);
const MOTO = ['moto[s3]==5.2.5', 'flask==3.1.3', 'flask-cors==6.0.5'];
const KEYS = { accessKeyId: 'cadenza-test', secretAccessKey: 'cadenza-test-secret' };

export interface ObjectStore {
  /** The name of the server, for titles of tests. */
  server: string;
  settings: S3Settings & { endpoint: string };
  client: S3Client;
  stop(): Promise<void>;
}

export async function startObjectStore(): Promise<ObjectStore | { skipped: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'cadenza-s3-'));
  const port = await ownPort();
  const command = (await versity(port, folder)) ?? (await moto(port));
  if ('skipped' in command) {
    rmSync(folder, { recursive: true });
    return command;
  }
  const child = spawn(command.file, command.args, { stdio: 'ignore' });
  const settings = {
    ...KEYS,
    endpoint: `http://127.0.0.1:${port}`,
    region: 'us-east-1',
    bucket: 'files',
    prefix: 'cadenza/',
    pathStyle: true,
  };
  const client = new S3Client({
    endpoint: settings.endpoint,
    region: settings.region,
    forcePathStyle: true,
    credentials: KEYS,
    maxAttempts: 1,
  });
  const stop = async (): Promise<void> => {
    client.destroy();
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (child.exitCode === null && child.kill()) await ended;
    rmSync(folder, { recursive: true, force: true });
  };
  for (const deadline = Date.now() + 180_000; ;) {
    try {
      await client.send(new CreateBucketCommand({ Bucket: settings.bucket }));
      return { server: command.server, settings, client, stop };
    } catch (error) {
      if (child.exitCode === null && Date.now() < deadline) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        continue;
      }
      await stop();
      return {
        skipped: `${command.server} did not start: ${error instanceof Error ? error.message : String(error)}`,
      };
    }
  }
}

interface Command {
  server: string;
  file: string;
  args: string[];
}

async function versity(port: number, folder: string): Promise<Command | null> {
  const file = (process.env['PATH'] ?? '')
    .split(':')
    .map((path) => join(path, 'versitygw'))
    .find((path) => existsSync(path));
  if (file === undefined) return null;
  const data = join(folder, 'data');
  mkdirSync(data);
  return {
    server: 'versitygw',
    file,
    args: [
      '--access',
      KEYS.accessKeyId,
      '--secret',
      KEYS.secretAccessKey,
      '--port',
      `127.0.0.1:${port}`,
      '--quiet',
      'posix',
      data,
    ],
  };
}

async function moto(port: number): Promise<Command | { skipped: string }> {
  const folder = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'cadenza', 'moto-5.2.5');
  const ready = join(folder, 'ready');
  try {
    if (!existsSync(ready)) {
      await run('python3', ['-m', 'venv', folder], { timeout: 60_000 });
      await run(join(folder, 'bin', 'python'), ['-m', 'pip', 'install', '--quiet', ...MOTO], {
        timeout: 240_000,
      });
      await run(join(folder, 'bin', 'python'), ['-c', `open(${JSON.stringify(ready)}, 'w')`]);
    }
    return {
      server: 'moto',
      file: join(folder, 'bin', 'moto_server'),
      args: ['-H', '127.0.0.1', '-p', String(port)],
    };
  } catch (error) {
    return { skipped: error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error) };
  }
}
