/** SASL with Kafka: PLAIN, SCRAM (RFC 5802), OAUTHBEARER (RFC 7628). */
import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { fault } from '../../../contracts/fault.ts';
import type { Connecting } from '../protocol.ts';
import { saslAuthenticate, saslHandshake } from './apis.ts';
import type { BrokerConnection } from './broker-connection.ts';
import { ERROR, kafkaFault } from './errors.ts';

const derive = promisify(pbkdf2);
/** As Kafka's own clients: with fewer, whoever poses as the broker finds the password soon. */
const MIN_ITERATIONS = 4_096;
const MAX_ITERATIONS = 100_000;

type Exchange = (message: string) => Promise<string>;
type Account = NonNullable<Connecting['account']>;

/** Does nothing without credentials. Throws `Fault`. */
export async function authenticate(connecting: Connecting, connection: BrokerConnection): Promise<void> {
  const { account, credentials } = connecting;
  const [, token] = /^Bearer (.+)$/.exec(credentials['authorization'] ?? '') ?? [];
  if (account === null && token === undefined) return;
  const mechanism = token === undefined ? mechanismOf(connecting) : 'OAUTHBEARER';
  const shaken = await connection.request(saslHandshake, mechanism);
  if (shaken.error !== ERROR.none)
    throw kafkaFault(connecting, shaken.error, `${mechanism}; it knows ${shaken.mechanisms.join(', ')}`);
  const exchange: Exchange = async (message) => {
    const answer = await connection.request(saslAuthenticate, Buffer.from(message));
    if (answer.error !== ERROR.none) throw kafkaFault(connecting, answer.error, answer.message);
    return answer.bytes.toString();
  };
  if (token !== undefined) {
    // RFC 7628 §3.2.3: an answer with content is a refusal, which an error follows.
    const refused = await exchange(`n,,\u0001auth=Bearer ${token}\u0001\u0001`);
    if (refused !== '') throw kafkaFault(connecting, ERROR.authenticationFailed, refused);
  } else if (account !== null) await withAccount(mechanism, account, exchange);
}

/** As the document's security scheme says; PLAIN if it says nothing. */
function mechanismOf({ target }: Connecting): 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512' {
  if (target.security.includes('scramSha512')) return 'SCRAM-SHA-512';
  if (target.security.includes('scramSha256')) return 'SCRAM-SHA-256';
  return 'PLAIN';
}

async function withAccount(mechanism: string, account: Account, exchange: Exchange): Promise<void> {
  const { username, password } = account;
  if (mechanism === 'PLAIN') {
    await exchange(`\0${username}\0${password}`);
    return;
  }
  await scram(mechanism === 'SCRAM-SHA-512' ? 'sha512' : 'sha256', account, exchange);
}

/** RFC 5802 §3. */
async function scram(hash: 'sha256' | 'sha512', account: Account, exchange: Exchange): Promise<void> {
  const hmac = (key: Buffer, text: string): Buffer => createHmac(hash, key).update(text).digest();
  const nonce = randomBytes(24).toString('base64url');
  const name = account.username.replaceAll('=', '=3D').replaceAll(',', '=2C');
  const first = `n=${name},r=${nonce}`;
  const challenge = await exchange(`n,,${first}`);
  const { r: shared = '', s: salt = '', i: iterations = '' } = attributesOf(challenge);
  const rounds = Number(iterations);
  if (!shared.startsWith(nonce) || !Number.isInteger(rounds)) throw unproven();
  if (rounds < MIN_ITERATIONS || rounds > MAX_ITERATIONS)
    throw fault('authentication', `The broker asks for ${rounds} iterations of SCRAM, which is not safe`, {
      status: 502,
    });
  const size = hash === 'sha512' ? 64 : 32;
  const salted = await derive(account.password, Buffer.from(salt, 'base64'), rounds, size, hash);
  const clientKey = hmac(salted, 'Client Key');
  const last = `c=biws,r=${shared}`;
  const signed = `${first},${challenge},${last}`;
  const signature = hmac(createHash(hash).update(clientKey).digest(), signed);
  const proof = Buffer.from(clientKey.map((byte, index) => byte ^ (signature[index] ?? 0)));
  const { v: verifier = '' } = attributesOf(await exchange(`${last},p=${proof.toString('base64')}`));
  const expected = hmac(hmac(salted, 'Server Key'), signed);
  const given = Buffer.from(verifier, 'base64');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw unproven();
}

function attributesOf(message: string): Record<string, string> {
  return Object.fromEntries(message.split(',').map((part) => [part.slice(0, 1), part.slice(2)]));
}

function unproven(): Error {
  return fault('authentication', 'The broker does not prove that it knows the password', { status: 502 });
}
