/**
 * The runnable examples of the specification, end to end, with their hosts served on this machine. The files
 * are used unchanged.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { validateDefinition } from '../../../language/definition/validate.ts';
import type { Client } from '../../support/app.ts';
import { withConformanceData } from '../../support/outside.ts';
import {
  endOf,
  startRun,
  startTestPlatform,
  until,
  type RunRecord,
  type TestPlatform,
} from '../../support/platform.ts';
import { startStubServices, type StubServices } from './stub-services.ts';

let platform: TestPlatform;
let stub: StubServices;
let client: Client;

const pet = { id: 1, name: 'Milou' };
const notImplemented = {
  status: 'faulted',
  error: {
    type: 'https://serverlessworkflow.io/errors/not-implemented',
    status: 500,
    title: 'Not Implemented',
    detail: expect.stringMatching(/^The workflow '.+' is a work in progress/),
  },
};
const luke = { status: 'completed', output: { results: [{ name: 'Luke' }] } };

/** Nobody serves the AsyncAPI documents; test/integration/adapters/call-asyncapi.test.ts has servers. */
const noDocument = {
  status: 'faulted',
  error: { status: 404, type: expect.stringContaining('/errors/communication') },
};

/** The input, and what the finished run has to contain. */
const RUNS: Record<string, [Record<string, unknown>, RunRecord]> = {
  'authentication-bearer-uri-format': [
    { petId: 1, token: 'pet-token' },
    { status: 'completed', output: pet },
  ],
  'authentication-bearer': [
    { token: 'another' },
    { status: 'faulted', error: { status: 401, type: expect.stringContaining('/errors/authentication') } },
  ],
  'authentication-oauth2-secret': [{ petId: 1 }, { status: 'completed', output: pet }],
  'authentication-oauth2': [{ petId: 1 }, { status: 'completed', output: pet }],
  'authentication-oidc-secret': [{ petId: 1 }, { status: 'completed', output: pet }],
  'authentication-oidc': [{ petId: 1 }, { status: 'completed', output: pet }],
  'authentication-reusable': [
    { petId: 1, token: 'pet-token' },
    { status: 'completed', output: pet },
  ],
  'call-custom-function-cataloged': [{}, { status: 'completed', output: { logged: 'Hello, world!' } }],
  // Its `when` asks an object whether it starts with a text.
  'mock-service-extension': [
    {},
    { status: 'faulted', error: { status: 400, type: expect.stringContaining('/errors/expression') } },
  ],
  'call-custom-function-inline': [
    {},
    { status: 'faulted', error: { status: 404, type: expect.stringContaining('/errors/communication') } },
  ],
  'call-http-endpoint-interpolation-shorthand': [{ petId: 1 }, { status: 'completed', output: pet }],
  'call-http-endpoint-interpolation': [{ petId: 1 }, { status: 'completed', output: pet }],
  'call-http-query-headers-expressions': [{ searchQuery: 'Luke' }, luke],
  'call-http-query-parameters': [{ searchQuery: 'Luke' }, luke],
  'call-http-redirect': [{ searchQuery: 'Luke' }, luke],
  // Commands run only if the operator lists them.
  'call-mcp': [
    {},
    { status: 'faulted', error: { type: expect.stringMatching(/errors\/(configuration|authorization)$/) } },
  ],
  ...Object.fromEntries(
    ['publish', 'subscribe-consume-amount', 'subscribe-consume-forever-foreach', 'subscribe-consume-until']
      .concat('subscribe-consume-while')
      .map((name) => [`call-asyncapi-${name}`, [{ pet: { id: 1 }, token: 'x' }, noDocument]]),
  ),
  'call-openapi-redirect': [{}, { status: 'completed', output: [pet, { id: 2 }] }],
  'call-openapi': [{}, { status: 'completed', output: [pet, { id: 2 }] }],
  'conditional-task': [
    { customer: { age: 17 } },
    {
      status: 'faulted',
      error: {
        type: 'https://superbet-casinos.com/customer/access-forbidden',
        status: 400,
        title: 'Access Forbidden',
      },
    },
  ],
  'do-multiple': [{ petId: 1 }, { status: 'completed', output: { sold: true } }],
  'do-single': [{ petId: 2 }, { status: 'completed', output: { id: 2, name: 'Idefix' } }],
  emit: [
    {},
    {
      status: 'completed',
      output: { type: 'com.petstore.order.placed.v1', data: { client: { firstName: 'Cruella' } } },
    },
  ],
  'for-inline-array': [
    {},
    { status: 'completed', output: { processed: [{ name: 'red' }, { name: 'green' }, { name: 'blue' }] } },
  ],
  fork: [
    { patient: { fullName: 'Ada' }, room: { number: 1 } },
    { status: 'completed', output: { alerted: expect.stringMatching(/^(nurses|doctor)$/) } },
  ],
  'raise-inline': [{}, notImplemented],
  'raise-reusable': [{}, notImplemented],
  'run-subflow': [{}, { status: 'completed', output: { registered: '.user' } }],
  'star-wars-homeworld': [{ id: 1 }, { status: 'completed', output: { name: 'Tatooine' } }],
  'switch-then-string': [
    { orderType: 'physical' },
    { status: 'completed', output: { inventory: 'clear', items: 1, address: 'Elmer St' } },
  ],
  'schedule-cron': [{}, { status: 'completed', output: { started: true } }],
  'try-catch-retry-inline': [{ petId: 1 }, { status: 'completed', output: pet }],
  'try-catch-retry-reusable': [{ petId: 9 }, { status: 'faulted', error: { status: 404 } }],
  'try-catch-then-directive': [{}, { status: 'completed', output: { status: 'failed' } }],
  'try-catch-then': [{ petId: 9 }, { status: 'completed', output: { error: '$error' } }],
  'try-catch': [{ petId: 9 }, { status: 'completed', output: { petId: 9 } }],
};
interface Event {
  type: string;
  data?: unknown;
  source?: string;
  roomid?: string;
}
const vitals = (of: 'temperature' | 'bpm', value: number): Event => ({
  type: `com.fake-hospital.vitals.measurements.${of}`,
  data: { [of]: value },
});
const reading = (of: string): Event => ({
  type: `my.home.sensors.${of}`,
  source: 'https://my.home.com/sensor',
  roomid: 'kitchen',
  data: { reading: 20 },
});
const faultOf = (kind: string, task: string): RunRecord => ({
  status: 'faulted',
  error: { type: expect.stringContaining(`/errors/${kind}`), instance: expect.stringContaining(task) },
});
const output = (...items: unknown[]): RunRecord => ({ status: 'completed', output: items });

/** The input, the events that are sent once the run listens, and what the finished run has to contain. */
const LISTENING: Record<string, [Record<string, unknown>, Event[], RunRecord]> = {
  // Its `output.as` asks the list of events for `.data`.
  'accumulate-room-readings': [
    {},
    [reading('temperature'), reading('humidity')],
    faultOf('expression', 'consumeReading'),
  ],
  // So does this, for `.pets`.
  for: [
    { pets: [{ id: 1 }], vet: true },
    [{ type: 'com.fake.petclinic.pets.checkup.completed.v2' }],
    faultOf('expression', 'waitForCheckup'),
  ],
  'listen-to-all': [
    {},
    [vitals('bpm', 80), vitals('temperature', 39), vitals('bpm', 120)],
    output({ temperature: 39 }, { bpm: 120 }),
  ],
  'listen-to-all-read-envelope': [
    {},
    [vitals('temperature', 39), vitals('bpm', 50)],
    output(vitals('temperature', 39), vitals('bpm', 50)),
  ],
  'listen-to-any': [{}, [{ type: 'x', data: 1 }], output(1)],
  'listen-to-any-filter': [{}, [vitals('temperature', 37), vitals('bpm', 50)], output({ bpm: 50 })],
  // Its room has no id.
  'listen-to-any-forever-foreach': [{}, [{ type: 'gossip' }], { status: 'faulted' }],
  'listen-to-any-until-condition': [
    {},
    [1, 2, 3, 4].map((data) => ({ type: 'x', data })),
    output(1, 2, 3, 4),
  ],
  'listen-to-any-until-consumed': [
    {},
    [vitals('temperature', 39), { type: 'com.fake-hospital.patient.checked-out' }],
    output({ temperature: 39 }),
  ],
  // Its car has no id.
  'listen-to-one': [
    {},
    [{ type: 'com.virtual-wf-powered-race.events.race.started.v1' }],
    { status: 'faulted', error: { instance: expect.stringContaining('startup') } },
  ],
};

const trigger: Event = { type: 'io.serverlessworkflow.samples.events.trigger.v1', data: { n: 1 } };
/** The event that starts a run, and what the run has to contain. */
const STARTED: Record<string, [Event, RunRecord]> = {
  set: [trigger, { status: 'completed', output: { startEvent: trigger } }],
  'set-expression': [trigger, { status: 'completed', output: trigger }],
  'schedule-event-driven': [
    { type: 'com.example.hospital.events.patients.heartbeat.low', data: { patient: { id: 1 } } },
    { status: 'completed', output: { notified: 1 } },
  ],
};

/** These wait half a minute, so the test only checks that they wait. */
const WAITING = ['wait-duration-inline', 'wait-duration-iso8601'];

withConformanceData('the runnable examples of the specification', ['open-workflow/examples'], (folder) => {
  beforeAll(async () => {
    stub = await startStubServices();
    platform = await startTestPlatform({ env: { EGRESS_HOST_MAP: stub.hostMap } });
    client = await platform.as('builder');
    const oauth = {
      authority: 'http://keycloak/realms/fake-authority',
      grant: 'client_credentials',
      endpoints: { token: '/auth/token' },
      client: { id: 'me', secret: 'client-secret' },
    };
    expect((await client.put('/secrets/mySecret', { value: JSON.stringify(oauth) })).status).toBeLessThan(
      300,
    );
    const registered = {
      document: { dsl: '1.0.3', namespace: 'test', name: 'register-customer', version: '0.1.0' },
      do: [{ greet: { set: { registered: '${ .customer }' } } }],
    };
    expect(
      (await client.post('/workflows', { name: 'register-customer', definition: registered })).body.runnable,
    ).toBe(true);
  });
  afterAll(async () => {
    await platform.close();
    await stub.close();
  });

  const definitionOf = (name: string): unknown => parse(readFileSync(`${folder}/${name}.yaml`, 'utf8'));

  test('this file runs every runnable example', () => {
    const runnable = readdirSync(folder)
      .filter((file) => file.endsWith('.yaml'))
      .map((file) => file.slice(0, -'.yaml'.length))
      .filter((name) => {
        const { runnable: runs, references } = validateDefinition(definitionOf(name));
        // Whether processes run is a setting; their own tests run these.
        return runs && references.processes.length === 0;
      });
    expect(runnable.toSorted()).toEqual(
      [RUNS, LISTENING, STARTED].flatMap(Object.keys).concat(WAITING).toSorted(),
    );
  });

  test.each(Object.entries(RUNS))('%s', async (name, [input, expected]) => {
    const { status, output, error } = await startRun(client, definitionOf(name), input, 30);
    expect({ status, output, error }).toMatchObject(expected);
  });

  let sent = 0;
  const send = async (events: Event[]): Promise<void> => {
    const headers = { 'content-type': 'application/cloudevents-batch+json' };
    const body = events.map((event) => ({
      specversion: '1.0',
      id: String(++sent),
      source: 'https://example.com',
      ...event,
    }));
    expect((await client.post('/events', body, { headers })).status).toBe(202);
  };

  test.each(Object.entries(LISTENING))('%s', async (name, [input, events, expected]) => {
    const { id } = await startRun(client, definitionOf(name), input);
    const read = async (): Promise<RunRecord> => (await client.get(`/runs/${id}`)).body;
    await until(read, ({ status }) => status === 'waiting');
    await send(events);
    expect(await endOf(client, { id })).toMatchObject(expected);
  });

  test.each(Object.entries(STARTED))('%s', async (name, [event, expected]) => {
    const workflow = (await client.post('/workflows', { name, definition: definitionOf(name) })).body;
    await send([event]);
    const [run] = await until(
      async (): Promise<RunRecord[]> => (await client.get(`/runs?workflow_id=${workflow.id}`)).body,
      ({ length }) => length > 0,
    );
    expect(await endOf(client, run as RunRecord)).toMatchObject(expected);
  });

  test.each(WAITING)('the example %s waits as it should', async (name) => {
    const { id } = await startRun(client, definitionOf(name));
    const read = async (): Promise<RunRecord> => (await client.get(`/runs/${id}`)).body;
    const { waiting_on, started_at } = await until(read, (run) => run['status'] === 'waiting');
    expect(waiting_on).toEqual([{ kind: 'timer', task: '/do/0/wait30Seconds', until: expect.any(String) }]);
    expect(Math.abs(Date.parse(waiting_on[0].until) - Date.parse(started_at) - 30_000)).toBeLessThan(5_000);
    await client.post(`/runs/${id}/cancel`);
  });
});
