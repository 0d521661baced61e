/** The programs whose access tokens of an issuer are accepted. */
import type { IdentityIssuer, IssuerMachine } from '../../../../client/index.ts';
import { claimOf } from '../../../../contracts/claim-text.ts';
import { client } from '../../data/api.ts';
import { readPersonId } from '../../data/people.ts';
import { WrongEntry } from '../../data/wrong-entry.ts';
import { personSchema } from '../../ui/person-field.tsx';
import type { Schema } from '../../ui/schema-form/fields.ts';
import type { Column } from '../../ui/table.tsx';
import { AccessDialog } from './access-dialog.tsx';
import { words } from './issuer-words.ts';
import { RecordsDialog } from './records-dialog.tsx';
import { Removal } from './removal.tsx';

const texts: Schema = { type: 'array', items: { type: 'string' } };
const newMachine = {
  required: ['name', 'person', 'claims'],
  properties: {
    name: { type: 'string', title: words.name, maxLength: 100 },
    person: personSchema(words.actsAs, words.actsAsHelp),
    claims: { ...texts, title: words.claims, description: words.claimsHelp },
  },
};

/** There are at most 200, which one page has. */
const MOST = 200;

export function Machines({ issuer }: { issuer: IdentityIssuer }) {
  const path = { id: issuer.id };
  const create = async (body: Record<string, unknown>, limit: { scopes?: string[] }) => {
    const claims = (body['claims'] ?? []) as string[];
    await client.call('createMachine', {
      path,
      body: {
        name: String(body['name']),
        user_id: await readPersonId(String(body['person'])),
        claims: claimsOf(claims),
        ...limit,
      },
    });
  };
  const remove = (id: string) => client.call('deleteMachine', { path: { ...path, machine_id: id } });
  return (
    <RecordsDialog<IssuerMachine>
      id="machines"
      button={words.machines}
      title={words.machinesTitle(issuer.title)}
      help={words.machinesHelp}
      none={words.noMachines}
      list={() => client.call('listMachines', { path, query: { limit: MOST } })}
      columns={(reload) => columns((id) => remove(id).then(reload))}
    >
      {(reload) => (
        <AccessDialog
          id="machine"
          button={words.newMachine}
          submit={words.save}
          schema={newMachine}
          unlimited={words.allScopes}
          onSubmit={(body, limit) => create(body, limit).then(reload)}
        />
      )}
    </RecordsDialog>
  );
}

/** `azp=robot` is the value `robot` of the claim `azp`. @throws WrongEntry */
function claimsOf(lines: readonly string[]): Record<string, string> {
  const claims: Record<string, string> = {};
  for (const line of lines) {
    const given = claimOf(line);
    if (given === null) throw new WrongEntry(words.noClaim(line));
    if (Object.hasOwn(claims, given.claim)) throw new WrongEntry(words.twice(given.claim));
    claims[given.claim] = given.value;
  }
  return claims;
}

function columns(remove: (id: string) => Promise<void>): Column<IssuerMachine>[] {
  return [
    { title: words.name, cell: ({ name }) => name },
    { title: words.actsAs, cell: ({ user_name: name, user_id: id }) => name ?? id },
    {
      title: words.claims,
      cell: ({ claims }) => (
        <code>
          {Object.entries(claims)
            .map(([claim, value]) => `${claim}=${value}`)
            .join(' ')}
        </code>
      ),
      minor: true,
      long: true,
    },
    { title: words.machineScopes, cell: ({ scopes }) => scopes?.join(' ') ?? words.allScopes, long: true },
    {
      title: words.acts,
      acts: true,
      cell: ({ id, name }) => (
        <Removal title={words.deleteMachine(name)} text={words.deleteMachineText} onAct={() => remove(id)} />
      ),
    },
  ];
}
