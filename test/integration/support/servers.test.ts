import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { createTemporalClient } from '../../../temporal/client.ts';
import { oncePerRun } from '../../support/run-folder.ts';
import {
  createTestDatabase,
  testTemporal,
  type TestDatabase,
  type TestTemporal,
} from '../../support/servers.ts';

describe('the servers of a test run', () => {
  let databases: TestDatabase[];
  let temporals: TestTemporal[];
  beforeAll(async () => {
    [databases, temporals] = await Promise.all([
      Promise.all([createTestDatabase(), createTestDatabase()]),
      Promise.all([testTemporal(), testTemporal()]),
    ]);
  });
  afterAll(async () => {
    await Promise.all(databases.map((database) => database.drop()));
  });

  test('give separate databases that can be dropped while in use', async () => {
    const [first, second] = await Promise.all(
      databases.map(async ({ url }) => {
        const client = new pg.Client({ connectionString: url });
        client.on('error', () => {});
        await client.connect();
        return client;
      }),
    );
    await first?.query('CREATE TABLE only_here (id int)');
    await expect(second?.query('SELECT * FROM only_here')).rejects.toThrow('does not exist');
    await databases[0]?.drop();
    await expect(first?.query('SELECT 1')).rejects.toThrow();
    await second?.end();
  });

  test('give each caller its own namespace, ready at once, with our search attributes', async () => {
    expect(new Set(temporals.map(({ namespace }) => namespace)).size).toBe(2);
    for (const { address, namespace } of temporals) {
      const { connection } = createTemporalClient({ address, namespace });
      const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
      expect(Object.keys(customAttributes ?? {}).toSorted()).toEqual([
        'CadenzaOwner',
        'CadenzaStatus',
        'CadenzaWorkflow',
      ]);
      await connection.close();
    }
  });

  test('share what is made once in a run', async () => {
    let count = 0;
    const make = async () => `made ${(count += 1)}`;
    expect(await Promise.all([oncePerRun('sample', make), oncePerRun('sample', make)])).toEqual([
      'made 1',
      'made 1',
    ]);
    const failing = () => oncePerRun('failing sample', () => Promise.reject(new Error('no luck')));
    await expect(failing()).rejects.toThrow('no luck');
    await expect(failing()).rejects.toThrow('no luck');
  });
});
