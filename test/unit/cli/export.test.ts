/** An export that forgets a field would take it away where it is applied. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

import { AGENT_FIELDS } from '../../../cli/commands/export.ts';

const { schemas } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../docs/openapi.json'), 'utf8'),
).components;

/** Written apart: the name, and the skills without their ids. The team is that of the set. */
const APART = ['name', 'skills', 'team_id'];

test('every field that an agent is created with is exported', () => {
  const fields = Object.keys(schemas.CreateAgentRequest.properties).filter((name) => !APART.includes(name));
  expect([...AGENT_FIELDS].toSorted()).toEqual(fields.toSorted());
});
