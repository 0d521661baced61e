/** External issuers, which admins manage. */
import type { CreateIssuerRequest, IdentityIssuer, UpdateIssuerRequest } from '../../../../client/index.ts';
import { isRecord } from '../../../../contracts/is-record.ts';
import { ROLES } from '../../../../contracts/roles.ts';
import { client } from '../../data/api.ts';
import { usePages } from '../../data/record-pages.ts';
import { WrongEntry } from '../../data/wrong-entry.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { ListState } from '../../ui/list-state.tsx';
import page from '../../ui/page.module.css';
import { detailOf } from '../../ui/problem.tsx';
import type { Schema } from '../../ui/schema-form/fields.ts';
import { Table, type Column } from '../../ui/table.tsx';
import { complain, tell } from '../../ui/toasts.tsx';
import { words } from './issuer-words.ts';
import { Machines } from './machines.tsx';
import { Removal } from './removal.tsx';
import { ScimTokens } from './scim-tokens.tsx';

const text = (title: string, description?: string, initial?: string): Schema => ({
  type: 'string',
  title,
  ...(description === undefined ? {} : { description }),
  ...(initial === undefined ? {} : { default: initial }),
});
const roles = (title: string): Schema => ({ type: 'array', items: { enum: ROLES }, title });
const mapping: Schema = {
  type: 'object',
  title: words.mapping,
  // A member that a change leaves out stays as it is, so only those that can be cleared are optional.
  required: ['second_factor', 'username', 'email', 'display_name'],
  properties: {
    roles: {
      type: 'array',
      title: words.roles,
      items: {
        type: 'object',
        required: ['claim', 'value', 'roles'],
        properties: {
          claim: text(words.claim, words.claimHelp),
          value: text(words.value),
          roles: roles(words.givenRoles),
        },
      },
    },
    default_roles: { ...roles(words.defaultRoles), description: words.defaultHelp },
    second_factor: {
      type: 'object',
      title: words.secondFactor,
      description: words.secondFactorHelp,
      required: ['claim', 'value'],
      properties: {
        claim: text(words.claim, words.claimHelp, 'amr'),
        value: text(words.value, undefined, 'mfa'),
      },
    },
    groups: text(words.groups, words.groupsHelp, 'groups'),
    username: text(words.username, words.claimHelp, 'preferred_username'),
    email: text(words.email, words.claimHelp, 'email'),
    display_name: text(words.displayName, words.claimHelp, 'name'),
  },
};
const changed = {
  title: text(words.title, words.titleHelp),
  issuer: text(words.issuer, words.issuerHelp),
  client_id: text(words.clientId),
  client_secret: { ...text(words.clientSecret, words.secretHelp), format: 'password' },
  scopes: {
    type: 'array',
    items: { type: 'string' },
    title: words.scopes,
    description: words.scopesHelp,
    default: ['openid', 'profile', 'email'],
  },
  jwks_uri: { ...text(words.keys, words.keysHelp), format: 'uri' },
  mapping,
  creates_users: {
    type: 'boolean',
    title: words.createsUsers,
    description: words.createsUsersHelp,
    default: true,
  },
  audiences: {
    type: 'array',
    items: { type: 'string' },
    title: words.audiences,
    description: words.audiencesHelp,
  },
  token_types: {
    type: 'array',
    items: {
      oneOf: (['at+jwt', 'jwt', 'none'] as const).map((one) => ({ const: one, title: words.tokenType[one] })),
    },
    title: words.tokenTypes,
    description: words.tokenTypesHelp,
    default: ['at+jwt'],
  },
  external_id_claim: text(words.externalId, words.externalIdHelp),
  enabled: { type: 'boolean', title: words.enabled, default: true },
};
const newIssuer: Schema = {
  type: 'object',
  required: ['name', 'title', 'issuer', 'client_id'],
  properties: { name: text(words.name, words.nameHelp), ...changed },
};
const changedIssuer = ({ has_secret: hasSecret }: IdentityIssuer): Schema => ({
  type: 'object',
  required: ['title', 'issuer', 'client_id'],
  properties: {
    ...changed,
    ...(hasSecret ? { without_secret: { type: 'boolean', title: words.withoutSecret } } : {}),
  },
});

/** What the form shows: a mapping without groups has none to show. */
function valuesOf({ mapping: { groups, ...others }, ...issuer }: IdentityIssuer) {
  return { ...issuer, mapping: groups === null ? others : { ...others, groups } };
}

/** @throws WrongEntry */
function bodyOf({ without_secret: withoutSecret, mapping: given, ...body }: Record<string, unknown>) {
  if (withoutSecret === true && typeof body['client_secret'] === 'string')
    throw new WrongEntry(words.secretOrNone);
  return {
    ...body,
    ...(withoutSecret === true ? { client_secret: null } : {}),
    ...(isRecord(given) ? { mapping: { ...given, groups: given['groups'] ?? null } } : {}),
  };
}

export function Issuers() {
  const list = usePages(['issuers'], (cursor) =>
    client.page('listIssuers', { query: { cursor: cursor ?? undefined } }),
  );
  const saved = async ({ title }: IdentityIssuer) => {
    await list.reload();
    tell(words.saved(title));
  };
  return (
    <>
      <p class="muted">{words.help}</p>
      <div class={page['actions']}>
        <FormDialog
          id="issuer"
          button={words.new}
          title={words.new}
          submit={words.save}
          schema={newIssuer}
          onSubmit={async (body) => {
            // The form's schema is that of the request.
            const fields = bodyOf(body) as unknown as CreateIssuerRequest;
            await saved(await client.call('createIssuer', { body: fields }));
          }}
        />
      </div>
      <ListState list={list} empty={<p>{words.none}</p>}>
        <Table
          label={words.label}
          columns={columns(saved, async (id) => {
            await client.call('deleteIssuer', { path: { id } });
            await list.reload();
          })}
          records={list.items.value}
          keyOf={({ id }: IdentityIssuer) => id}
        />
      </ListState>
    </>
  );
}

function columns(
  saved: (issuer: IdentityIssuer) => Promise<void>,
  remove: (id: string) => Promise<void>,
): Column<IdentityIssuer>[] {
  return [
    { title: words.title, cell: ({ title, name }) => `${title} (${name})` },
    { title: words.issuer, cell: ({ issuer }) => <code>{issuer}</code>, minor: true, long: true },
    { title: words.redirect, cell: ({ redirect_uri: uri }) => <code>{uri}</code>, minor: true, long: true },
    { title: words.status, cell: ({ enabled }) => (enabled ? words.on : words.off) },
    {
      title: words.acts,
      acts: true,
      cell: (issuer) => (
        <>
          <button type="button" onClick={() => void check(issuer)}>
            {words.check}
          </button>{' '}
          <ScimTokens issuer={issuer} /> <Machines issuer={issuer} />{' '}
          {issuer.from_settings ? (
            words.fromSettings
          ) : (
            <>
              <FormDialog
                id={`issuer-${issuer.id}`}
                button={words.edit}
                title={words.editTitle(issuer.title)}
                submit={words.save}
                schema={changedIssuer(issuer)}
                values={valuesOf(issuer)}
                onSubmit={async (body) => {
                  // As above.
                  const changes = bodyOf(body) as unknown as UpdateIssuerRequest;
                  await saved(await client.call('updateIssuer', { path: { id: issuer.id }, body: changes }));
                }}
              />{' '}
              <Removal
                title={words.deleteTitle(issuer.title)}
                text={words.deleteText}
                onAct={() => remove(issuer.id)}
              />
            </>
          )}
        </>
      ),
    },
  ];
}

async function check({ id, title }: IdentityIssuer): Promise<void> {
  try {
    const { keys } = await client.call('checkIssuer', { path: { id }, body: {} });
    tell(words.checked(title, keys));
  } catch (error) {
    complain(detailOf(error));
  }
}
