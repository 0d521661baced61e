import { Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { oncePerRun } from '../../support/run-folder.ts';
import { createTestDatabase, testTemporal, type TestDatabase, type TestTemporal } from '../../support/servers.ts';

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

  test('databases are real, apart from each other, and can be dropped while in use', async () => {
    const [one, other] = await Promise.all(databases.map(async ({ url }) => {
      const client = new pg.Client({ connectionString: url });
      client.on('error', () => {});
      await client.connect();
      return client;
    }));
    await one?.query('CREATE TABLE only_here (id int)');
    await expect(other?.query('SELECT * FROM only_here')).rejects.toThrow('does not exist');
    await databases[0]?.drop();
    await expect(one?.query('SELECT 1')).rejects.toThrow();
    await other?.end();
  });

  test('each asking gets a namespace of its own that is known at once, with our search attributes', async () => {
    expect(new Set(temporals.map(({ namespace }) => namespace)).size).toBe(2);
    const connection = await Connection.connect({ address: temporals[0]?.address ?? '' });
    for (const { namespace } of temporals) {
      const { customAttributes } = await connection.operatorService.listSearchAttributes({ namespace });
      expect(Object.keys(customAttributes ?? {}).toSorted()).toEqual(['CadenzaOwner', 'CadenzaStatus', 'CadenzaWorkflow']);
    }
    await connection.close();
  });

  test('what is made once per run is made once', async () => {
    let made = 0;
    const make = async () => `made ${(made += 1)}`;
    expect(await Promise.all([oncePerRun('sample', make), oncePerRun('sample', make)])).toEqual(['made 1', 'made 1']);
    const failing = () => oncePerRun('failing sample', () => Promise.reject(new Error('no luck')));
    await expect(failing()).rejects.toThrow('no luck');
    await expect(failing()).rejects.toThrow('no luck');
  });
});
