/** What a command works with: the client, the session, output, and the person at the terminal. */
import type { Readable } from 'node:stream';
import type { ReadStream, WriteStream } from 'node:tty';

import { createClient, type Client } from '../../client/index.ts';
import { ConfigFile } from './config-file.ts';
import { CliError, EXIT } from './errors.ts';
import type { CommonFlags } from './flags.ts';
import { send } from './oauth.ts';
import { Output, type OutputOptions } from './output.ts';
import { inCommands } from './server-words.ts';
import { Session } from './session.ts';

export interface Surroundings {
  args: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  stdin: Readable & Partial<Pick<ReadStream, 'isTTY' | 'setRawMode'>>;
  stdout: OutputOptions['stdout'] & Partial<Pick<WriteStream, 'rows'>>;
  stderr: OutputOptions['stderr'];
  /** Aborted by Ctrl-C. */
  signal: AbortSignal;
}

export class Cli {
  readonly surroundings: Surroundings;
  readonly env: Surroundings['env'];
  readonly signal: AbortSignal;
  readonly out: Output;
  readonly config: ConfigFile;
  readonly session: Session;
  readonly client: Client;
  /** Sends no token: it can ask how the server is while none can be had. */
  readonly anonymous: Client;

  constructor(surroundings: Surroundings, flags: CommonFlags) {
    const { env, stdout, stderr, signal } = surroundings;
    this.surroundings = surroundings;
    this.env = env;
    this.signal = signal;
    this.out = new Output({
      stdout,
      stderr,
      format: flags.output,
      jq: flags.jq,
      quiet: flags.quiet === true,
      colored: flags.noColor !== true && !env['NO_COLOR'],
    });
    this.config = new ConfigFile(env);
    this.session = new Session(this.config, env, flags.profile);
    this.client = createClient({ baseUrl: this.session.url, fetch: this.session.fetch });
    this.anonymous = createClient({ baseUrl: this.session.url, fetch: send });
  }

  /** Whether somebody sees questions and can answer them. */
  get isInteractive(): boolean {
    const { stdin, stderr } = this.surroundings;
    return stdin.isTTY === true && stderr.isTTY === true && !this.env['CI'];
  }

  /** Words for people, on stderr. */
  say(text: string): void {
    this.out.say(inCommands(text));
  }

  /** @throws CliError unless there is a session; without it the server would answer 401 */
  async requireLogIn(): Promise<void> {
    if ((await this.session.token()) !== undefined) return;
    const { missingProfile: missing, url } = this.session;
    if (missing === undefined)
      throw new CliError(`You are not logged in at ${url}.`, {
        code: 'not_logged_in',
        exitCode: EXIT.logIn,
      });
    const existing = missing.existing.length === 0 ? '' : ` There is: ${missing.existing.join(', ')}.`;
    throw new CliError(`There is no profile ${missing.name}.${existing}`, {
      code: 'no_such_profile',
      exitCode: EXIT.logIn,
      hint: `To make it: cadenza login --profile ${missing.name}`,
    });
  }
}
