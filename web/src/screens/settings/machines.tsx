/** The programs whose access tokens of an issuer are accepted. */
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';

import type { IdentityIssuer, IssuerMachine } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { readPersonId } from '../../data/people.ts';
import { WrongEntry } from '../../data/wrong-entry.ts';
import { FormDialog } from '../../ui/form-dialog.tsx';
import { detailOf } from '../../ui/problem.tsx';
import type { Schema } from '../../ui/schema-form/fields.ts';
import { Table, type Column } from '../../ui/table.tsx';
import { complain } from '../../ui/toasts.tsx';
import { words } from './issuer-words.ts';
import { Removal } from './removal.tsx';

const texts: Schema = { type: 'array', items: { type: 'string' } };
const newMachine: Schema = {
  type: 'object',
  required: ['name', 'person', 'claims'],
  properties: {
    name: { type: 'string', title: words.name, maxLength: 100 },
    person: { type: 'string', title: words.actsAs, description: words.actsAsHelp },
    claims: { ...texts, title: words.claims, description: words.claimsHelp },
    scopes: { ...texts, title: words.machineScopes, description: words.machineScopesHelp },
  },
};

export function Machines({ issuer }: { issuer: IdentityIssuer }) {
  const opened = useSignal(false);
  return (
    <>
      <button type="button" onClick={() => (opened.value = true)}>
        {words.machines}
      </button>
      {opened.value && <Programs issuer={issuer} onClose={() => (opened.value = false)} />}
    </>
  );
}

/** There are at most 200, which one page has. */
const MOST = 200;

function Programs({ issuer, onClose }: { issuer: IdentityIssuer; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const machines = useSignal<readonly IssuerMachine[]>([]);
  const path = { id: issuer.id };
  const load = async () => {
    machines.value = await client.call('listMachines', { path, query: { limit: MOST } });
  };
  useEffect(() => {
    dialog.current?.showModal();
    load().catch((error: unknown) => complain(detailOf(error)));
  }, []);
  const create = async (body: Record<string, unknown>) => {
    const claims = (body['claims'] ?? []) as string[];
    const scopes = (body['scopes'] ?? []) as string[];
    await client.call('createMachine', {
      path,
      body: {
        name: String(body['name']),
        user_id: await readPersonId(String(body['person'])),
        claims: claimsOf(claims),
        ...(scopes.length === 0 ? {} : { scopes }),
      },
    });
    await load();
  };
  const remove = async (id: string) => {
    await client.call('deleteMachine', { path: { ...path, machine_id: id } });
    await load();
  };
  return (
    <dialog ref={dialog} aria-labelledby="machines-title" onClose={onClose}>
      <h2 id="machines-title">{words.machinesTitle(issuer.title)}</h2>
      <p class="muted">{words.machinesHelp}</p>
      {machines.value.length === 0 ? (
        <p>{words.noMachines}</p>
      ) : (
        <Table
          label={words.machinesTitle(issuer.title)}
          columns={columns(remove)}
          records={machines.value}
          keyOf={({ id }: IssuerMachine) => id}
        />
      )}
      <FormDialog
        id="machine"
        button={words.newMachine}
        title={words.newMachine}
        submit={words.save}
        schema={newMachine}
        onSubmit={create}
      />{' '}
      <button type="button" onClick={() => dialog.current?.close()}>
        {words.close}
      </button>
    </dialog>
  );
}

/** `azp=robot` is the value `robot` of the claim `azp`. @throws WrongEntry */
function claimsOf(lines: readonly string[]): Record<string, string> {
  const claims: Record<string, string> = {};
  for (const line of lines) {
    const at = line.indexOf('=');
    const [claim, value] = [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    if (at < 1 || value === '') throw new WrongEntry(words.noClaim(line));
    if (Object.hasOwn(claims, claim)) throw new WrongEntry(words.twice(claim));
    claims[claim] = value;
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
    },
    { title: words.machineScopes, cell: ({ scopes }) => scopes?.join(' ') ?? words.allScopes },
    {
      title: words.acts,
      end: true,
      cell: ({ id, name }) => (
        <Removal title={words.deleteMachine(name)} text={words.deleteMachineText} onAct={() => remove(id)} />
      ),
    },
  ];
}
