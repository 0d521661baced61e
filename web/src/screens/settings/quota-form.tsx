/** The form in which admins give a user or a team limits of its own. */
import type { QuotaState, UserQuotas } from '../../../../client/index.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { words } from './quota-words.ts';

/** What only people have. */
const OWN: readonly QuotaState['name'][] = ['chats', 'tokens', 'clients', 'streams'];
// Safe: they are the table's own names.
const NAMES = Object.keys(words.names) as QuotaState['name'][];

interface Props {
  id: string;
  of: 'user' | 'team';
  name: string;
  quotas: UserQuotas | null;
  save: (quotas: Record<string, number | null>) => Promise<void>;
}

export function QuotaForm({ id, of, name, quotas, save }: Props) {
  const names = NAMES.filter((one) => of === 'user' || !OWN.includes(one));
  const properties = Object.fromEntries(
    names.map((one) => [one, { type: 'integer', minimum: 0, title: words.names[one] }]),
  );
  return (
    <FormDialog
      id={`quotas-${id}`}
      button={words.button}
      title={words.title(name)}
      help={words.formHelp}
      submit={words.save}
      schema={{ type: 'object', properties }}
      values={{ ...quotas }}
      onSubmit={async (body) => {
        const amount = (value: unknown): number | null => (typeof value === 'number' ? value : null);
        await save(Object.fromEntries(names.map((one) => [one, amount(body[one])])));
      }}
    />
  );
}
