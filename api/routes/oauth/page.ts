/** The pages on which a user logs in and approves an OAuth client: no script, no outside resource. */
import type { Role } from '../../../contracts/roles.ts';
import { escapeHtml } from '../../../contracts/escape-html.ts';
import { page } from '../../page.ts';

/** A form posts its fields to the address of the page. */
export interface PageForm {
  path: string;
  fields: Record<string, string>;
}

/**
 * Loads `url` as a request from our own page. Browsers withhold a `SameSite=Strict` cookie from a navigation
 * that another site began, also through redirects.
 */
export function renderResumePage(url: string): string {
  const target = escapeHtml(url);
  const head = `<meta http-equiv="refresh" content="0;url=${target}">`;
  return page('Continue', `<p><a href="${target}">Continue to Cadenza</a></p>`, head);
}

/** A way to log in at an external issuer. */
export interface IssuerLink {
  title: string;
  url: string;
}

export function renderLogInPage(
  form: PageForm,
  clientName: string,
  problem: string | null,
  issuers: readonly IssuerLink[],
): string {
  return page(
    'Log in',
    `<h1>Log in to Cadenza</h1>
<p><b>${escapeHtml(clientName)}</b> asks for access to your account. You decide after you have logged in.</p>
${problem === null ? '' : `<p class="problem" role="alert">${escapeHtml(problem)}</p>`}
<form method="post" action="${escapeHtml(form.path)}">${hidden(form.fields)}
<label>Username or e-mail address
<input name="username" autocomplete="username" required autofocus></label>
<label>Password <input name="password" type="password" autocomplete="current-password" required></label>
<button name="action" value="log_in">Log in</button>
</form>
${issuers.map(issuerLink).join('')}`,
  );
}

function issuerLink({ title, url }: IssuerLink): string {
  return `<p><a href="${escapeHtml(url)}">Continue with ${escapeHtml(title)}</a></p>`;
}

/** Why nobody could log in, with a way back. */
export function renderProblemPage(text: string, back: string): string {
  return page(
    'Not logged in',
    `<h1>You are not logged in</h1>
<p class="problem" role="alert">${escapeHtml(text)}</p>
<p><a href="${escapeHtml(back)}">Back to the log-in</a></p>`,
  );
}

export function renderCodePage(form: PageForm, problem: string | null): string {
  return page(
    'Second factor',
    `<h1>Second factor</h1>
<p>The code of your authenticator app, or a recovery code.
With a passkey only, log in to the console first.</p>
${problem === null ? '' : `<p class="problem" role="alert">${escapeHtml(problem)}</p>`}
<form method="post" action="${escapeHtml(form.path)}">${hidden(form.fields)}
<label>Code <input name="code" autocomplete="one-time-code" required autofocus></label>
<button name="action" value="log_in">Log in</button>
</form>`,
  );
}

const RIGHTS: Record<Role, string> = {
  viewer: 'read what is public and what is yours',
  approver: 'read what you may read, and decide human tasks in your name',
  builder: 'create, change and run agents and workflows, and decide human tasks, in your name',
  admin: 'do everything on this server, the administration of users included',
};

/** Of tokens for the MCP server, which are of no use elsewhere. */
const TOOL_RIGHTS: Record<Role, string> = {
  viewer: 'see your runs, their files and your human tasks',
  approver: 'see your runs, their files and your human tasks',
  builder:
    'run the agents and workflows that you may use, and see your runs, their files and your human tasks',
  admin: "run all agents and workflows, and see everybody's runs, their files and human tasks",
};

/** Only some users may log in to the client. */
export function renderRefusedPage(
  form: PageForm,
  { clientName, username, role }: { clientName: string; username: string; role: Role },
): string {
  return page(
    'No access',
    `<h1>You may not use <b>${escapeHtml(clientName)}</b></h1>
<p class="problem" role="alert">It is for users with the role ${escapeHtml(role)}. You are
<b>${escapeHtml(username)}</b>, and have not got it, or not in this session.</p>
<form method="post" action="${escapeHtml(form.path)}">${hidden(form.fields)}
<button name="action" value="log_out">Use another account</button>
<button name="action" value="deny">Back</button>
</form>`,
  );
}

export interface Consent {
  clientName: string;
  clientUri: string | null;
  redirectTo: string;
  registeredAt: Date;
  /** The settings of this server describe it. */
  isTrusted: boolean;
  /** What it would learn of the user, as scopes of OpenID Connect; null: nothing. */
  identity: readonly string[] | null;
  username: string;
  /** The highest role that the client would use; null if the user has none. */
  role: Role | null;
  /** Its tokens would be for the MCP server only. */
  toolsOnly: boolean;
  /** It asks to decide human tasks through tools. */
  mayDecide: boolean;
  /** What it would be limited to, as sentences; null: no further limit. */
  scopes: string[] | null;
}

export function renderConsentPage(form: PageForm, consent: Consent): string {
  const name = escapeHtml(consent.clientName);
  const rights = rightsIn(consent);
  const limits =
    consent.scopes === null ? '' : `<p>Of this, only:</p><ul>${consent.scopes.map(listItem).join('')}</ul>`;
  const decides = consent.mayDecide
    ? `<p class="problem">It also asks to <b>decide human tasks in your name</b>, so a language model could
decide what people are asked. Only on runs that it has not begun itself.</p>`
    : '';
  const identity =
    consent.identity === null ? '' : `<p>It would learn ${learnt(consent.identity).join(', ')}.</p>`;
  const note = consent.isTrusted
    ? 'This program belongs to this installation of Cadenza.'
    : `The program chose its name itself; Cadenza has not checked it. Allow it only if you have just
started this log-in yourself.`;
  const uri =
    consent.clientUri === null
      ? ''
      : `<dt>It names as its page</dt><dd>${escapeHtml(consent.clientUri)}</dd>`;
  return page(
    'Allow access',
    `<h1>Allow <b>${name}</b> to use your account?</h1>
<p>You are <b>${escapeHtml(consent.username)}</b>. It would be able to ${rights},
until you end its session.</p>
${limits}${identity}${decides}
<dl><dt>You are sent to</dt><dd>${escapeHtml(consent.redirectTo)}</dd>
${uri}<dt>Registered</dt><dd>${consent.registeredAt.toISOString().slice(0, 10)}</dd></dl>
<p class="note">${note}</p>
<form method="post" action="${escapeHtml(form.path)}">${hidden(form.fields)}
<button name="action" value="approve">Allow</button>
<button name="action" value="deny">Deny</button>
<button name="action" value="log_out">Use another account</button>
</form>`,
  );
}

const LEARNT: Readonly<Record<string, string>> = {
  openid: 'your id',
  profile: 'your name',
  email: 'your e-mail address',
};

function learnt(scopes: readonly string[]): string[] {
  return scopes.flatMap((scope) => LEARNT[scope] ?? []);
}

function listItem(text: string): string {
  return `<li>${escapeHtml(text)}</li>`;
}

function rightsIn({ role, toolsOnly }: Consent): string {
  if (role === null) return 'see who you are';
  return (toolsOnly ? TOOL_RIGHTS : RIGHTS)[role];
}

function hidden(fields: Record<string, string>): string {
  return Object.entries(fields)
    .map(([name, value]) => `<input type="hidden" name="${escapeHtml(name)}" value="${escapeHtml(value)}">`)
    .join('');
}
