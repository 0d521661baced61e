import type { Role } from '../../contracts/roles.ts';
import type { Client, TestApp, TestUser } from './app.ts';

/** A user, and what they ask the API with. */
export interface Person {
  user: TestUser;
  client: Client;
}

export async function createPerson(
  app: TestApp,
  roles: Role[] = ['approver'],
  groups: string[] = [],
): Promise<Person> {
  const user = await app.createUser({ roles, groups });
  return { user, client: await app.as(user) };
}
