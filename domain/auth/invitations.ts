/** Invitations: an admin has made an account without a password, and its person chooses one by a link. */
import type { UserAccount } from '../../db/entities/user-account.ts';
import { isReachable } from '../../contracts/mail-address.ts';
import type { EntityManager } from '../../db/orm.ts';
import { conflict } from '../errors.ts';
import { enqueueAccountMail } from '../notifications/account-mails.ts';
import { addressOfLink, createAccountLink, voidAccountLinks } from './account-links.ts';
import type { Actor } from './actor.ts';
import type { LinkDeps } from './signed-link.ts';

interface InvitationDeps extends LinkDeps {
  /** Whether mails can be sent. */
  hasMail: boolean;
  days: number;
}

interface Invitation {
  expiresAt: Date;
  /** Null if no mail was sent. */
  mailedTo: string | null;
  /** Only without a mail server, and only in this answer. */
  link: string | null;
}

const DAY_MS = 86_400_000;
const ASKS_FOR_ANOTHER = 'This user has a password, and asks for another one on the log-in page.';
const NEEDS_ANOTHER =
  'This user has a password. Without a mail server an admin sets another one: PATCH /users/{id} with ' +
  '`password`.';

/**
 * Mails a locked user the link of an invitation, or returns the link if no mails can be sent. Ends an earlier
 * invitation. @throws 409 if the person cannot choose a password
 */
export async function inviteUser(
  em: EntityManager,
  deps: InvitationDeps,
  actor: Actor,
  user: UserAccount,
): Promise<Invitation> {
  checkMayBeInvited(user, deps.hasMail);
  const link = await createAccountLink(em, {
    userId: user.id,
    purpose: 'invitation',
    createdBy: actor.id,
    lifetimeMs: deps.days * DAY_MS,
  });
  const { expiresAt } = link;
  await em.execute('update user_account set invited_until = ? where id = ?', [expiresAt, user.id]);
  if (!deps.hasMail) {
    const made = await addressOfLink(em, deps, link.id);
    return { expiresAt, mailedTo: null, link: made?.address ?? null };
  }
  const data = { by: actor.id };
  await enqueueAccountMail(em, { kind: 'invitation', userId: user.id, link, data });
  return { expiresAt, mailedTo: user.email, link: null };
}

/** The link stops working at once. @throws 409 without an invitation */
export async function withdrawInvitation(em: EntityManager, user: UserAccount): Promise<void> {
  if (user.invited_until === null) throw conflict('not_invited', 'This user has no invitation.');
  await voidAccountLinks(em, user.id, 'invitation');
  await em.execute('update user_account set invited_until = null where id = ?', [user.id]);
}

function checkMayBeInvited(user: UserAccount, hasMail: boolean): void {
  if (user.erased_at) throw conflict('erased', 'The data of this user was erased: create a new account.');
  if (user.status !== 'active') throw conflict('account_disabled', 'Enable this user first.');
  if (user.password_hash !== null) throw conflict('has_password', hasMail ? ASKS_FOR_ANOTHER : NEEDS_ANOTHER);
  if (user.issuer_id !== null)
    throw conflict('single_sign_on', 'An issuer made this account: its person logs in there.');
  if (hasMail && !isReachable(user.email))
    throw conflict('no_mail_address', 'This user has no address to which mails can be sent.');
}
