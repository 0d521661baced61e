/**
 * Checks parts that occur both in tasks and in `use`: durations, timeouts, errors, retries, endpoints,
 * authentications.
 */
import type { Checker } from './checker.ts';
import { isExpression } from './common-shapes.ts';
import { durationToMs } from './duration.ts';
import { checkHeaderValue } from './headers.ts';
import { isRecord } from '../../contracts/is-record.ts';
import { at, own, quote } from './problems.ts';
import type { Place, SecretPolicy } from './scope.ts';
import { unsupported } from './support.ts';

export function checkDuration(duration: unknown, pointer: string, place: Place, checker: Checker): void {
  checker.text(duration, pointer, place);
}

/** Milliseconds of a literal duration; undefined for expressions and invalid durations. */
export function literalMs(duration: unknown): number | undefined {
  if (duration === undefined || isExpression(duration)) return undefined;
  try {
    return durationToMs(duration);
  } catch {
    return undefined;
  }
}

export function checkTimeout(timeout: unknown, pointer: string, place: Place, checker: Checker): void {
  if (typeof timeout === 'string') {
    const meant =
      literalMs(timeout) === undefined ? '' : `a duration is written {"after": ${quote(timeout)}}`;
    checker.name('timeouts', timeout, pointer, meant);
  } else {
    checkDuration(own(timeout, 'after'), at(pointer, 'after'), place, checker);
  }
}

/** Checks the texts of a raised error. The run stores them, so they cannot read secrets. */
export function checkError(
  error: Record<string, unknown>,
  pointer: string,
  locals: readonly string[],
  checker: Checker,
): void {
  for (const key of ['type', 'instance', 'title', 'detail']) {
    checker.text(error[key], at(pointer, key), { site: 'definition', locals, secrets: 'refuse' });
  }
  const { status } = error;
  if (typeof status === 'number' && (status < 100 || status > 599)) {
    checker.problems.error(
      at(pointer, 'status'),
      'invalid_value',
      '"status" must be an HTTP status, 100 to 599',
    );
  }
}

export function checkRetry(
  retry: Record<string, unknown>,
  pointer: string,
  locals: readonly string[],
  checker: Checker,
): void {
  const place: Place = { site: 'definition', locals, secrets: 'refuse' };
  checker.expression(retry['when'], at(pointer, 'when'), place);
  checker.expression(retry['exceptWhen'], at(pointer, 'exceptWhen'), place);
  checkDuration(retry['delay'], at(pointer, 'delay'), place, checker);
  const { backoff, limit, jitter } = retry;
  for (const [strategy, parameters] of isRecord(backoff) ? Object.entries(backoff) : []) {
    for (const key of ['increment', 'maxDelay'])
      checkDuration(own(parameters, key), at(pointer, 'backoff', strategy, key), place, checker);
  }
  checkDuration(own(limit, 'duration'), at(pointer, 'limit', 'duration'), place, checker);
  checkDuration(
    own(own(limit, 'attempt'), 'duration'),
    at(pointer, 'limit', 'attempt', 'duration'),
    place,
    checker,
  );
  for (const key of ['from', 'to'])
    checkDuration(own(jitter, key), at(pointer, 'jitter', key), place, checker);
  const from = literalMs(own(jitter, 'from'));
  const to = literalMs(own(jitter, 'to'));
  if (from !== undefined && to !== undefined && from > to)
    checker.problems.error(at(pointer, 'jitter'), 'invalid_value', 'jitter.from is longer than jitter.to');
  const count = own(own(limit, 'attempt'), 'count');
  if (
    count === undefined &&
    own(limit, 'duration') === undefined &&
    retry['when'] === undefined &&
    retry['exceptWhen'] === undefined
  ) {
    checker.problems.warning(
      pointer,
      'retry_without_limit',
      'retries forever: set limit.attempt.count or limit.duration',
    );
  }
}

/** Checks an endpoint: a URI, URI template or expression, with its authentication. */
export function checkEndpoint(
  endpoint: unknown,
  pointer: string,
  locals: readonly string[],
  checker: Checker,
  secrets: SecretPolicy = 'refuse',
): void {
  const uri = isRecord(endpoint) ? endpoint['uri'] : endpoint;
  const uriPointer = isRecord(endpoint) ? at(pointer, 'uri') : pointer;
  const place: Place = { site: 'definition', locals, secrets };
  checker.text(uri, uriPointer, place);
  if (typeof uri === 'string' && !uri.includes('${')) checkTemplate(uri, uriPointer, checker);
  checkAuthentication(own(endpoint, 'authentication'), at(pointer, 'authentication'), locals, checker);
}

/** Checks a URI template, of which only `{name}` is supported (dsl-reference.md, URI Template). */
function checkTemplate(uri: string, pointer: string, checker: Checker): void {
  for (const [, expression = ''] of uri.matchAll(/\{([^{}]*)\}/g)) {
    if (/^[A-Za-z0-9_.%-]+$/.test(expression)) continue;
    checker.problems.error(
      pointer,
      'uri_template',
      `${quote(`{${expression}}`)}: only {name} with the name of a property of the task's input is ` +
        `possible here, or \${ … }`,
    );
  }
  if (/[{}]/.test(uri.replaceAll(/\{[^{}]*\}/g, '')))
    checker.problems.error(pointer, 'uri_template', 'a brace in the URI is not closed');
}

/**
 * Checks an authentication: inline, or `use: <name of use.authentications>`. Inside a scheme, `use` names one
 * of `use.secrets`.
 */
export function checkAuthentication(
  policy: unknown,
  pointer: string,
  locals: readonly string[],
  checker: Checker,
): void {
  if (!isRecord(policy)) return;
  if (typeof policy['use'] === 'string') {
    const name = policy['use'];
    if (!checker.refuseFetched(at(pointer, 'use'), `the authentication ${quote(name)}`))
      checker.name('authentications', name, at(pointer, 'use'));
  }
  for (const scheme of ['basic', 'bearer', 'digest', 'oauth2', 'oidc']) {
    const configuration = policy[scheme];
    if (!isRecord(configuration)) continue;
    const place = at(pointer, scheme);
    const secret = configuration['use'];
    if (typeof secret === 'string') {
      checker.secret(secret, at(place, 'use'));
      continue;
    }
    if (scheme === 'oauth2' || scheme === 'oidc') checkOAuth(configuration, place, checker);
    if (scheme === 'bearer') checkHeaderValue(configuration['token'], place, 'token', checker);
    if (scheme === 'digest') checkHeaderValue(configuration['username'], place, 'username', checker);
    checkTexts(configuration, place, { site: 'definition', locals, secrets: 'allow' }, checker);
  }
}

/** Checks requirements of dsl-reference.md "OAUTH2 Authentication" beyond the shape. */
function checkOAuth(policy: Record<string, unknown>, pointer: string, checker: Checker): void {
  const { grant, client } = policy;
  const needs = (given: unknown, why: string, ...keys: string[]): void => {
    if (given === undefined)
      checker.problems.error(
        at(pointer, ...keys),
        'required',
        `${quote(keys.at(-1) ?? '')} is needed ${why}`,
      );
  };
  if (grant === 'authorization_code' || grant === 'refresh_token')
    unsupported(checker, at(pointer, 'grant'), 'auth.grant');
  if (grant === 'password')
    for (const key of ['username', 'password']) needs(policy[key], 'by the grant "password"', key);
  if (grant === 'urn:ietf:params:oauth:grant-type:token-exchange')
    needs(policy['subject'], 'by a token exchange', 'subject');
  const given = own(client, 'authentication');
  const how = typeof given === 'string' ? given : 'client_secret_post';
  if (how !== 'none') needs(own(client, 'id'), `with client.authentication ${quote(how)}`, 'client', 'id');
  if (how === 'private_key_jwt')
    needs(own(client, 'assertion'), 'with private_key_jwt', 'client', 'assertion');
  if (how === 'client_secret_jwt' && own(client, 'assertion') === undefined)
    needs(own(client, 'secret'), 'with client_secret_jwt', 'client', 'secret');
}

function checkTexts(value: unknown, pointer: string, place: Place, checker: Checker): void {
  if (typeof value === 'string') checker.text(value, pointer, place);
  else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) checkTexts(item, at(pointer, key), place, checker);
  }
}
