/** Programs whose access tokens an issuer signs. */
import * as z from 'zod';

import { claimPath } from '../../../contracts/identity.ts';
import { checkFreshLogin } from '../../../domain/auth/clients.ts';
import { checkPerson } from '../../../domain/auth/own-sessions.ts';
import { getIssuer } from '../../../domain/identity/issuers.ts';
import {
  createMachine,
  deleteMachine,
  listMachines,
  type Machine,
} from '../../../domain/identity/machines.ts';
import { endpoint, type Endpoint } from '../../endpoint.ts';
import { claimsOf } from '../../middleware/auth.ts';
import { byId, readPage } from '../../paging.ts';
import { personName } from '../../person-names.ts';
import { idParams, pageQuery, text, timestamp, uuid } from '../../schemas.ts';
import { scopeList } from '../users/tokens.ts';
import { TAGS } from './schemas.ts';

const claims = z
  .record(claimPath, z.string().min(1).max(400))
  .refine((all) => Object.keys(all).length >= 1 && Object.keys(all).length <= 5, 'must have 1 to 5 claims')
  .meta({ description: 'All must fit: claim paths with their value, such as `{"azp": "robot"}`.' });

const newMachine = z.object({
  name: text({ min: 1, max: 100 }),
  user_id: uuid,
  claims,
  scopes: scopeList.optional(),
});

const machineRecord = z
  .object({
    id: uuid,
    name: z.string(),
    user_id: uuid.meta({ description: 'The account as which the program acts.' }),
    user_name: personName,
    claims: z.record(z.string(), z.string()),
    scopes: z
      .array(z.string())
      .nullable()
      .meta({ description: 'What the program may do; null: all that the account may.' }),
    created_at: timestamp,
  })
  .meta({ id: 'IssuerMachine' });

export function machineEndpoints(): Endpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/identity-issuers/{id}/machines',
      operationId: 'listMachines',
      summary: 'List the programs whose access tokens of an issuer are accepted, oldest first',
      tags: TAGS,
      role: 'admin',
      params: idParams,
      query: z.object(pageQuery),
      responses: { 200: z.array(machineRecord) },
      handler: async (c) => {
        const issuer = await getIssuer(c.em, c.params.id);
        const { items, headers } = await readPage(c, byId, (page) => listMachines(c.em, issuer.id, page));
        return { status: 200, body: items.map(present), headers };
      },
    }),
    endpoint({
      method: 'POST',
      path: '/identity-issuers/{id}/machines',
      operationId: 'createMachine',
      summary: 'Accept access tokens of an issuer with certain claims as those of an account',
      description:
        'It needs a log-in at most 5 minutes old, else 401 `login_too_old`, and the issuer `audiences`, ' +
        'else 422 `no_audiences`. There are at most 200 for an issuer, no two with the same claims (409 ' +
        '`claims_taken`).',
      tags: TAGS,
      role: 'admin',
      params: idParams,
      body: newMachine,
      record: machineRecord,
      responses: { 201: machineRecord },
      errors: [403, 404, 409],
      idempotent: false,
      handler: async (c) => {
        const issuer = await getIssuer(c.em, c.params.id, true);
        checkFreshLogin(claimsOf(c.ctx));
        return { status: 201, body: present(await createMachine(c.em, issuer, c.body)) };
      },
    }),
    endpoint({
      method: 'DELETE',
      path: '/identity-issuers/{id}/machines/{machine_id}',
      operationId: 'deleteMachine',
      summary: 'Accept the access tokens of a program no longer, immediately',
      tags: TAGS,
      role: 'admin',
      params: idParams.extend({ machine_id: uuid }),
      responses: { 204: null },
      errors: [403],
      handler: async (c) => {
        const issuer = await getIssuer(c.em, c.params.id);
        checkPerson(claimsOf(c.ctx));
        await deleteMachine(c.em, issuer.id, c.params.machine_id);
        return { status: 204 };
      },
    }),
  ];
}

function present(machine: Machine): z.input<typeof machineRecord> {
  return { ...machine, created_at: machine.created_at.toISOString() };
}
