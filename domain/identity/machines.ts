/**
 * Programs that an issuer identifies: its access tokens (RFC 9068) are taken as those of an account here, if
 * an admin has mapped their claims.
 */
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { v7 as uuidv7 } from 'uuid';

import { canonicalJson } from '../../contracts/canonical-json.ts';
import { IdentityRefusal } from '../../contracts/identity-refusal.ts';
import type { EntityManager } from '../../db/orm.ts';
import { arrayLiteral, type KeysetPage } from '../../db/sql.ts';
import { checkScopes } from '../auth/access-tokens.ts';
import { scopedActor, TEAMS_OF_USER, type Actor } from '../auth/actor.ts';
import type { Caller } from '../auth/known-callers.ts';
import { conflict, invalid, notFound } from '../errors.ts';
import type { IdentityProviders } from '../ports.ts';
import type { Encryption } from '../secrets/encryption.ts';
import { storableText } from '../storable.ts';
import { valuesAt, type ClaimValues } from './claims.ts';
import { accessOf, findIssuerOfTokens, type Issuer } from './issuers.ts';

const MAX_MACHINES = 200;
const MAX_TOKEN_LENGTH = 16_384;

export interface Machine {
  id: string;
  name: string;
  user_id: string;
  /** Claim paths with the value that each must have. */
  claims: Record<string, string>;
  /** Null: all that its account may do. */
  scopes: string[] | null;
  created_at: Date;
}

/** Oldest first; without a page all. */
export async function listMachines(
  em: EntityManager,
  issuerId: string,
  { after, limit }: KeysetPage = { limit: MAX_MACHINES },
): Promise<Machine[]> {
  const rows = await em.execute<(Omit<Machine, 'created_at'> & { created_at: string })[]>(
    `select id, name, user_id, claims, to_json(scopes) as scopes, created_at from identity_machine
      where issuer_id = ? and id > ? order by id limit ?`,
    [issuerId, after ?? '00000000-0000-0000-0000-000000000000', limit],
  );
  return rows.map((row) => ({ ...row, created_at: new Date(row.created_at) }));
}

type NewMachine = Pick<Machine, 'name' | 'user_id' | 'claims'> & { scopes?: string[] | undefined };

/** @throws 404, 409, 422 */
export async function createMachine(
  em: EntityManager,
  { id: issuerId, audiences }: Pick<Issuer, 'id' | 'audiences'>,
  { name, user_id: userId, claims, scopes }: NewMachine,
): Promise<Machine> {
  if (audiences.length === 0) {
    const message = 'the issuer has no audiences, without which none of its access tokens is accepted';
    throw invalid([{ pointer: '', code: 'no_audiences', message }], `${message}.`);
  }
  const others = await listMachines(em, issuerId);
  if (others.length >= MAX_MACHINES)
    throw conflict('limit_reached', `An issuer has at most ${MAX_MACHINES} machines.`);
  // A token has one account: the oldest machine that it fits.
  const same = others.find((other) => canonicalJson(other.claims) === canonicalJson(claims));
  if (same) throw conflict('claims_taken', `The machine ${same.name} of the issuer has the same claims.`);
  const user = await accountOf(em, userId);
  if (!user) throw notFound('user');
  if (scopes !== undefined) await checkScopes(em, user, scopes);
  const id = uuidv7();
  await em.execute(
    `insert into identity_machine (id, issuer_id, user_id, name, claims, scopes)
     values (?, ?, ?, ?, ?::jsonb, ?::text[])`,
    [
      id,
      issuerId,
      userId,
      name,
      JSON.stringify(claims),
      scopes === undefined ? null : arrayLiteral(new Set(scopes)),
    ],
  );
  const made = (await listMachines(em, issuerId)).find((one) => one.id === id);
  if (!made) throw new Error('no machine was inserted');
  return made;
}

/** Its tokens stop working at once. @throws 404 */
export async function deleteMachine(em: EntityManager, issuerId: string, id: string): Promise<void> {
  const deleted = await em.execute<object[]>(
    'delete from identity_machine where id = ? and issuer_id = ? returning 1',
    [id, issuerId],
  );
  if (deleted.length === 0) throw notFound('machine');
}

export interface MachineDeps {
  fork: () => EntityManager;
  encryption: Encryption;
  identities: IdentityProviders;
}

/** `iss` of what looks like a token, unverified; null for anything that cannot be the name of an issuer. */
export function claimedIssuer(token: string): string | null {
  if (token.length > MAX_TOKEN_LENGTH) return null;
  // Nobody has checked the claims, so they may have any type.
  const issuer: unknown = unlessMalformed(() => decodeJwt(token))?.iss;
  return typeof issuer === 'string' && issuer !== '' && storableText(issuer) === issuer ? issuer : null;
}

function unlessMalformed<T>(decode: () => T): T | null {
  try {
    return decode();
  } catch {
    return null;
  }
}

/** The account of an issuer's access token; null unless everything fits. */
export async function callerOfMachine(deps: MachineDeps, token: string): Promise<Caller | null> {
  const named = claimedIssuer(token);
  const em = deps.fork();
  const issuer = named === null ? null : await findIssuerOfTokens(em, named);
  if (issuer === null || !hasType(token, issuer)) return null;
  const claims = await verifiedClaims(deps, em, issuer, token);
  if (claims === null || isIdToken(claims, issuer)) return null;
  const machine = (await listMachines(em, issuer.id)).find((one) => fits(one, claims));
  return machine === undefined ? null : callerOf(em, machine, Number(claims['exp']));
}

function hasType(token: string, { token_types: types }: Issuer): boolean {
  const header = unlessMalformed(() => decodeProtectedHeader(token));
  const type: unknown = header?.typ ?? 'none';
  return (
    header !== null &&
    typeof type === 'string' &&
    types.includes(type.toLowerCase().replace(/^application\//, ''))
  );
}

async function verifiedClaims(
  { identities, encryption }: MachineDeps,
  em: EntityManager,
  issuer: Issuer,
  token: string,
): Promise<ClaimValues | null> {
  try {
    return await identities.tokenClaims(await accessOf(em, encryption, issuer), token, issuer.audiences);
  } catch (error) {
    if (error instanceof IdentityRefusal) return null;
    throw error;
  }
}

/** ID tokens are for the log-in of a person, also where `typ` does not tell. */
function isIdToken(claims: ClaimValues, { client_id: clientId }: Issuer): boolean {
  const marks = ['nonce', 'at_hash', 'c_hash', 's_hash'];
  return marks.some((mark) => mark in claims) || valuesAt(claims, 'aud').includes(clientId);
}

function fits({ claims: wanted }: Machine, claims: ClaimValues): boolean {
  return Object.entries(wanted).every(([path, value]) => valuesAt(claims, path).includes(value));
}

async function callerOf(em: EntityManager, machine: Machine, exp: number): Promise<Caller | null> {
  const account = await accountOf(em, machine.user_id);
  if (account?.status !== 'active') return null;
  const { status: _active, token_epoch: epoch, ...actor } = account;
  return {
    actor: scopedActor(actor, machine.scopes),
    // The machine's record stands for a session: it ends with the record.
    claims: { sub: machine.user_id, sid: machine.id, client_id: machine.id, epoch, exp: Math.floor(exp) },
  };
}

async function accountOf(em: EntityManager, userId: string): Promise<Account | undefined> {
  const [account] = await em.execute<Account[]>(
    `select u.id, u.username, to_json(u.roles) as roles, to_json(u.groups) as groups, ${TEAMS_OF_USER},
            u.status, u.token_epoch
       from user_account u where u.id = ?`,
    [userId],
  );
  return account;
}

interface Account extends Actor {
  status: string;
  token_epoch: number;
}
