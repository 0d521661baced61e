/** The identities of a user at external issuers. */
import type { IdentityIssuer, User } from '../../../../../client/index.ts';
import { client } from '../../../data/api.ts';
import { useQuery } from '../../../data/query.ts';
import { usePages } from '../../../data/record-pages.ts';
import { FormDialog } from '../../../ui/form-dialog.tsx';
import page from '../../../ui/page.module.css';
import type { Schema } from '../../../ui/schema-form/fields.ts';
import { tell } from '../../../ui/toasts.tsx';
import { identityColumns } from '../identities.tsx';
import { Records } from './user-access.tsx';
import { words } from './user-words.ts';

/** The issuers that one page has. */
const MAX_ISSUERS = 200;

export function UserIdentities({ user: { id, username, issuer_id: madeBy } }: { user: User }) {
  const list = usePages(['user-identities', id], (cursor) =>
    client.page('listUserIdentities', { path: { id }, query: { cursor: cursor ?? undefined } }),
  );
  const { data: issuers = [] } = useQuery<IdentityIssuer[]>({
    queryKey: ['issuers-to-link'],
    queryFn: () => client.call('listIssuers', { query: { limit: MAX_ISSUERS } }),
  });
  const unlink = async (identityId: string) => {
    await client.call('unlinkUserIdentity', { path: { id, identity_id: identityId } });
    await list.reload();
  };
  const link = async (issuer: string, subject: string) => {
    const body = { issuer_id: issuer, subject };
    const linked = await client.call('linkUserIdentity', { path: { id }, body });
    await list.reload();
    tell(words.linked(linked.issuer_title, username));
  };
  return (
    <Records
      title={words.identities}
      none={words.noIdentities}
      list={list}
      columns={identityColumns(madeBy, unlink)}
    >
      {issuers.length > 0 && (
        <div class={page['actions']}>
          <FormDialog
            id="link"
            button={words.link}
            title={words.linkTitle(username)}
            help={words.linkHelp}
            submit={words.link}
            schema={schemaOf(issuers)}
            onSubmit={(body) => link(String(body['issuer']), String(body['subject']))}
          />
        </div>
      )}
    </Records>
  );
}

function schemaOf(issuers: readonly IdentityIssuer[]): Schema {
  return {
    type: 'object',
    required: ['issuer', 'subject'],
    properties: {
      issuer: {
        title: words.linkIssuer,
        oneOf: issuers.map(({ id, title }) => ({ const: id, title })),
        default: issuers[0]?.id,
      },
      subject: { type: 'string', title: words.subject, description: words.subjectHelp, maxLength: 255 },
    },
  };
}
