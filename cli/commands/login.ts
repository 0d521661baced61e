/** Log in by a code that the user approves in a browser, by password, or as a machine client; and log out. */
import { setTimeout as sleep } from 'node:timers/promises';

import { command, optional } from '../core/command.ts';
import type { Cli } from '../core/cli.ts';
import { DEFAULT_URL } from '../core/config-file.ts';
import { CliError, EXIT, HintedError, usageError } from '../core/errors.ts';
import { flag, refuseFlags, text, type ValuesOf } from '../core/flags.ts';
import { ask, readPasswordAndCode, readSecret } from '../core/input.ts';
import { notCadenza, OAuthRefusal, postForm, requestTokens, type Tokens } from '../core/oauth.ts';
import { clientForm, isLoopback, serverUrl, Session } from '../core/session.ts';
import { openInBrowser } from '../core/browser.ts';
import type { Profile } from '../core/config-file.ts';

const flags = {
  device: flag('Approve a code in a browser (default)'),
  username: text('Log in with a password instead', 'NAME'),
  passwordStdin: flag('Read the password from standard input; else it is asked for'),
  codeStdin: flag('Read the code of a second factor from standard input, from the line after the password'),
  clientId: text('Log in as a machine client instead', 'ID'),
  clientSecretStdin: flag('Read the client secret from standard input; else it is asked for'),
  noBrowser: flag('Do not open a browser; print its address only'),
};
type LoginFlags = ValuesOf<typeof flags>;

export const loginCommand = command({
  brief: 'Log in, and keep the session in a profile',
  details:
    'Without flags, the command shows a code, which you approve in the console. The session is kept in ' +
    'config.json of $XDG_CONFIG_HOME/cadenza, which only you can read. Its profile becomes the current ' +
    'one; cadenza config use chooses another. In CI, set CADENZA_TOKEN, or CADENZA_CLIENT_ID and ' +
    'CADENZA_CLIENT_SECRET, instead of logging in.',
  flags,
  letters: { u: 'username' },
  arguments: [optional('URL', `Address of the server. Default: that of the profile, else ${DEFAULT_URL}`)],
  hasData: false,
  run: async (cli, given, url) => {
    const session =
      url === undefined
        ? cli.session
        : new Session(cli.config, { ...cli.env, CADENZA_URL: serverUrl(url) }, cli.session.profileName);
    warnOfPlainHttp(cli, session.url);
    const { profile, tokens } = await logIn(cli, session.url, given);
    const user = await whoHas(session.url, tokens);
    const { isNowCurrent } = await session.logIn({ ...profile, username: user }, tokens);
    cli.say(`Logged in at ${session.url} as ${user} (profile ${session.profileName}).`);
    if (isNowCurrent) cli.say(`${session.profileName} is now the current profile. See: cadenza config list`);
  },
});

export const logoutCommand = command({
  brief: 'End the session, at the server too',
  hasData: false,
  run: async (cli) => {
    const { profile, url, profileName } = cli.session;
    const token = profile?.refresh_token ?? profile?.access_token;
    if (token === undefined || profile === undefined) {
      cli.say(`Profile ${profileName} has no session.`);
      return;
    }
    try {
      await postForm(serverUrl(profile.url), '/auth/revoke', { token });
    } finally {
      await cli.session.forget();
    }
    cli.say(`Logged out of ${url}.`);
  },
});

async function logIn(
  cli: Cli,
  url: string,
  given: LoginFlags,
): Promise<{ profile: Partial<Profile>; tokens: Tokens }> {
  const { username, clientId, device } = given;
  if ([username, clientId, device].filter((one) => one !== undefined).length > 1)
    throw usageError('Choose one of --device, --username and --client-id.');
  if (username === undefined) refuseFlags(given, ['passwordStdin'], 'without --username');
  if (given.passwordStdin === undefined) refuseFlags(given, ['codeStdin'], 'without --password-stdin');
  if (clientId === undefined) refuseFlags(given, ['clientSecretStdin'], 'without --client-id');
  if (username !== undefined) {
    const { password, code } = await readPasswordAndCode(cli, given);
    const form = { grant_type: 'password', username, password };
    const tokens = await requestTokens(url, form, cli.signal).catch((error: unknown) =>
      secondStep(cli, { url, error, code }),
    );
    return { profile: {}, tokens };
  }
  if (clientId !== undefined) {
    const options = { hidden: true, instead: '--client-secret-stdin' };
    const secret = given.clientSecretStdin
      ? await readSecret(cli)
      : await ask(cli, 'Client secret: ', options);
    const tokens = await requestTokens(url, clientForm(clientId, secret), cli.signal);
    return { profile: { client_id: clientId, client_secret: secret }, tokens };
  }
  return { profile: {}, tokens: await logInByCode(cli, url, given.noBrowser === true) };
}

/** The password was right; a code of the authenticator app, or a recovery code, is needed too. */
async function secondStep(
  cli: Cli,
  { url, error, code }: { url: string; error: unknown; code: string | undefined },
): Promise<Tokens> {
  if (!(error instanceof OAuthRefusal) || error.code !== 'mfa_required' || error.challenge === undefined)
    throw error;
  const form = {
    grant_type: 'urn:cadenza:params:oauth:grant-type:second-factor',
    challenge: error.challenge,
    ...(await proofFor(cli, error, code)),
  };
  return requestTokens(url, form, cli.signal);
}

type Proof = { code: string } | { recovery_code: string };

/** What a refused password needs besides. @throws HintedError if nobody can give it */
export async function proofFor(cli: Cli, refusal: Error, code: string | undefined): Promise<Proof> {
  if (code === undefined && !cli.isInteractive)
    throw new HintedError(
      refusal,
      'Give the code on the line after the password: --password-stdin --code-stdin',
    );
  return code === undefined ? askProof(cli) : proofIn(code);
}

export const askProof = async (cli: Cli): Promise<Proof> =>
  proofIn(await ask(cli, 'Code of the authenticator app, or recovery code: ', { instead: '--code-stdin' }));

/** Six digits are a code, everything else is a recovery code. */
export function proofIn(given: string): Proof {
  const text = given.replaceAll(/\s/g, '');
  return /^\d{6}$/.test(text) ? { code: text } : { recovery_code: text };
}

/** RFC 8628. Works without a terminal too: the code is on stderr, for whoever reads it. */
async function logInByCode(cli: Cli, url: string, isQuiet: boolean): Promise<Tokens> {
  const codes = await postForm(url, '/auth/device', {}, cli.signal);
  if (typeof codes['device_code'] !== 'string') throw notCadenza(url, 'code');
  const [page, code, secret] = ['verification_uri_complete', 'user_code', 'device_code'].map((name) =>
    String(codes[name]),
  );
  // Not `say`: even with --quiet nobody can log in without the code.
  cli.surroundings.stderr.write(`Open ${page ?? ''}\nand approve the code ${code ?? ''}\n`);
  if (cli.isInteractive && !isQuiet) openInBrowser(cli, page ?? '');
  const deadline = Date.now() + Number(codes['expires_in']) * 1_000;
  let pauseMs = Number(codes['interval']) * 1_000;
  const form = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code: secret ?? '' };
  while (Date.now() < deadline) {
    await sleep(pauseMs, undefined, { signal: cli.signal });
    try {
      return await requestTokens(url, form, cli.signal);
    } catch (error) {
      if (!(error instanceof OAuthRefusal)) throw error;
      if (error.code === 'slow_down') pauseMs += 5_000;
      else if (error.code !== 'authorization_pending') throw refusedCode(error);
    }
  }
  throw refusedCode({ code: 'expired_token' });
}

function refusedCode({ code }: { code: string }): CliError {
  const words: Readonly<Record<string, string>> = {
    access_denied: 'Somebody denied the code.',
    expired_token: 'Nobody approved the code in time. Run cadenza login again.',
  };
  return new CliError(words[code] ?? `The server refused the code (${code}).`, {
    code,
    exitCode: EXIT.logIn,
  });
}

async function whoHas(url: string, { access_token: token }: Tokens): Promise<string> {
  const { createClient } = await import('../../client/index.ts');
  const { username } = await createClient({ baseUrl: url, token: () => token }).call('getMe');
  return username;
}

function warnOfPlainHttp(cli: Cli, url: string): void {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'http:' && !isLoopback(hostname))
    cli.say(`warning: ${url} is not encrypted. Anybody on the way can read your session.`);
}
