/** Profiles: which server, and the session on it. One file that only its owner can read. */
import { mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

import { isRecord } from '../../contracts/is-record.ts';
import { CliError } from './errors.ts';
import { hasCode, withLock } from './lock.ts';
import { replaceFile } from './replace-file.ts';
import { unreadable } from './unreadable.ts';

export interface Profile {
  url: string;
  username?: string;
  access_token?: string;
  /** When the access token ends, in milliseconds since 1970. */
  expires_at?: number;
  refresh_token?: string;
  client_id?: string;
  client_secret?: string;
}

export interface Configuration {
  current: string;
  profiles: Record<string, Profile>;
}

const DEFAULT_PROFILE = 'default';
export const DEFAULT_URL = 'http://127.0.0.1:3000';

export class ConfigFile {
  readonly path: string;

  constructor(env: Readonly<Record<string, string | undefined>>) {
    const folder = env['XDG_CONFIG_HOME'] || join(env['HOME'] || homedir(), '.config');
    this.path = join(folder, 'cadenza', 'config.json');
  }

  read(): Configuration {
    let text: string;
    try {
      text = readFileSync(this.path, 'utf8');
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return { current: DEFAULT_PROFILE, profiles: {} };
      throw unreadable(this.path, error, 'configuration_unreadable');
    }
    return this.#parse(text);
  }

  /** Reads, changes and writes under the lock, so that no other process's change is lost. */
  async change(change: (configuration: Configuration) => void): Promise<void> {
    await this.locked(async () => {
      const configuration = this.read();
      change(configuration);
      this.write(configuration);
    });
  }

  async locked<T>(body: () => Promise<T>): Promise<T> {
    mkdirSync(dirname(this.path), { recursive: true, mode: 0o700 });
    return withLock(`${this.path}.lock`, body);
  }

  /** Call it under the lock. */
  write(configuration: Configuration): void {
    replaceFile(this.path, `${JSON.stringify(configuration, null, 2)}\n`);
  }

  #parse(text: string): Configuration {
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      value = undefined;
    }
    if (!isRecord(value) || !isRecord(value['profiles']))
      throw new CliError(`${this.path} is no configuration. Correct it, or remove it and log in again.`, {
        code: 'configuration_unreadable',
      });
    const profiles = Object.entries(value['profiles']).filter(([, profile]) => isProfile(profile));
    return {
      current: typeof value['current'] === 'string' ? value['current'] : DEFAULT_PROFILE,
      // Each has just been checked; a null prototype, because names are arbitrary.
      profiles: Object.assign(Object.create(null), Object.fromEntries(profiles)) as Record<string, Profile>,
    };
  }
}

const isProfile = (value: unknown): value is Profile => isRecord(value) && typeof value['url'] === 'string';
