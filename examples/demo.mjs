/**
 * Fills a running instance, so that every screen shows something: `npm run demo`. It adds three people, the
 * agents and workflows of the examples, runs in every state, tasks that wait, and marketplace items. Then it
 * plays the agents until Ctrl-C. A second call adds only what is missing.
 *
 * CADENZA is the address (default: http://127.0.0.1:3000), CADENZA_PASSWORD the password of `admin` (default:
 * that of `npm start` in this folder).
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { createWriter } from './agents/writer.mjs';
import { createApi, logIn, until } from './api.mjs';
import { PLAYERS, setUpClaim } from './claim/run.mjs';
import { installExamples } from './install.mjs';

const PEOPLE = [
  { username: 'ada', display_name: 'Ada Lovelace', roles: ['builder', 'approver'], groups: ['finance'] },
  { username: 'grace', display_name: 'Grace Hopper', roles: ['approver'], groups: ['finance'] },
  { username: 'dora', display_name: 'Dora Richter', roles: ['approver'], groups: ['directors'] },
];

/**
 * Adds what is missing.
 * @param writer the address of the service that plays the agents
 * @returns the people whom this call has added, each with a password, notes on others of the same names, and
 *   the number of runs
 */
export async function fillDemo({ cadenza, token, writer }) {
  const api = createApi(cadenza, token);
  const { people, notes } = await addPeople(api);
  const workflows = await installExamples({ cadenza, token, writer });
  const runs = await addRuns(api, workflows, writer);
  await addItems(api);
  return { people, notes, runs };
}

async function addPeople(api) {
  const people = [];
  const notes = [];
  for (const person of PEOPLE) {
    const found = await api('GET', `/users?q=${person.username}`);
    const known = found.find(({ username }) => username === person.username);
    if (known !== undefined) {
      notes.push(...notesOn(known, person));
      continue;
    }
    const password = randomBytes(12).toString('base64url');
    await api('POST', '/users', { ...person, email: `${person.username}@example.com`, password });
    people.push({ username: person.username, password });
  }
  return { people, notes };
}

/** What somebody lacks who has the name of a person of the demo. */
function notesOn({ username, groups, roles }, wanted) {
  const lacks = [
    ...wanted.groups.filter((group) => !groups.includes(group)).map((group) => `is not in ${group}`),
    ...(roles.includes('approver') ? [] : ['does not have the role approver']),
  ];
  if (lacks.length === 0) return [];
  return [`${username} exists already and ${lacks.join(' and ')}: some tasks are for others.`];
}

/** Runs of the examples, unless there are some. Each is followed to the state that it is to show. */
async function addRuns(api, workflows, writer) {
  let count = 0;
  const start = async (name, input) => {
    const { id } = await api('POST', `/workflows/${workflows[name]}/run`, { input_params: input });
    count++;
    return id;
  };
  const isNew = async (name) =>
    (await api('GET', `/runs?workflow_id=${workflows[name]}&limit=1`)).length === 0;
  const decide = async (run, decision) => {
    const [task] = await until(
      () => api('GET', `/hitl/tasks?run_id=${run}`),
      (tasks) => tasks.length > 0,
    );
    await api('POST', `/hitl/tasks/${task.id}/decision`, decision);
  };
  if (await isNew('review-and-publish')) {
    await decide(await start('review-and-publish', { topic: 'Otters' }), { decision: 'approve' });
    await decide(await start('review-and-publish', { topic: 'Newts' }), {
      decision: 'reject',
      comment: 'We had newts last week.',
    });
    for (const topic of ['Herons', 'Beavers']) await start('review-and-publish', { topic });
  }
  if (await isNew('revise-until-approved')) {
    const topic = 'The history of tea';
    await decide(await start('revise-until-approved', { topic }), {
      decision: 'reject',
      comment: 'Shorter, please.',
    });
    const given = await start('revise-until-approved', { topic: 'Lighthouses' });
    for (let draft = 1; draft <= 3; draft++)
      await decide(given, { decision: 'reject', comment: `Draft ${draft} is too long.` });
  }
  if (await isNew('approve-with-quorum')) {
    for (const [what, amount] of [
      ['a grand piano', 20_000],
      ['new chairs', 1_200],
      ['coffee', 40],
    ])
      await start('approve-with-quorum', { what, amount });
    // Dora, too, has something to decide: finance has not answered in time.
    await start('approve-with-quorum', { what: 'a ferry', amount: 90_000, escalate_after: 'PT1S' });
  }
  if (await isNew('parallel-research'))
    for (const topic of ['tea', 'coffee', 'chocolate']) await start('parallel-research', { topic });
  if (await isNew('loop-over-list')) {
    const texts = Array.from({ length: 20 }, (_, n) => `sentence ${n + 1}`);
    await start('loop-over-list', { texts, language: 'de', budget: 1_000 });
  }
  if (await isNew('retry-with-backoff'))
    await start('retry-with-backoff', { service: writer, key: randomBytes(4).toString('hex'), failures: 2 });
  if (await isNew('child-workflows')) await start('child-workflows', { text: 'good morning' });
  if (await isNew('workflow-as-agent')) await start('workflow-as-agent', { text: 'good evening' });
  if (await isNew('timeouts')) {
    await start('timeouts', { delay_ms: 20_000 });
    const cancelled = await start('timeouts', { delay_ms: 30_000 });
    await api('POST', `/runs/${cancelled}/cancel`, {});
  }
  return count;
}

/**
 * A claim that waits for a decision, and everybody outside whom its agents need, until this process ends.
 * @returns the number of runs that this call has started
 */
async function addClaim(options) {
  const claim = await setUpClaim(options);
  claim.working.catch(({ message }) => process.stderr.write(`The worker of the claim ends: ${message}\n`));
  const api = createApi(options.cadenza, options.token);
  if ((await api('GET', `/runs?workflow_id=${claim.workflow}&limit=1`)).length > 0) return 0;
  await claim.start();
  return 1;
}

/** Two items that everybody can install, and one that waits for a review. */
async function addItems(api) {
  const { id } = await api('GET', '/users/me');
  const known = await api('GET', `/marketplace/items?publisher=${id}&limit=200`);
  const agents = await api('GET', `/agents?owner_id=${id}&limit=200`);
  for (const [name, isApproved] of [
    ['translator', true],
    ['researcher', true],
    ['writer-draft', false],
  ]) {
    const agent = agents.find((each) => each.name === name);
    if (agent === undefined || known.some((item) => item.name === name)) continue;
    const { versions } = await api('GET', `/agents/${agent.id}`);
    if (versions.some(({ version, status }) => version === '1.0.0' && status === 'draft'))
      await api('POST', `/agents/${agent.id}/versions/1.0.0/publish`);
    const item = await api('POST', '/marketplace/items', {
      kind: 'agent',
      ref_id: agent.id,
      version: '1.0.0',
      summary: agent.description,
      categories: ['text'],
      license: 'MIT',
    });
    if (!isApproved) continue;
    await api('POST', `/marketplace/items/${item.id}/approve`, {});
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(realpathSync(process.argv[1])).href) {
  // oxlint-disable-next-line node/no-process-env -- a script of its own, not a part of the product
  const { CADENZA = 'http://127.0.0.1:3000', CADENZA_PASSWORD } = process.env;
  const say = (text) => process.stdout.write(`${text}\n`);
  const stop = (text) => {
    process.stderr.write(`${text}\n`);
    process.exit(1);
  };
  const token = await logIn(CADENZA, CADENZA_PASSWORD).catch(({ message }) => stop(message));
  const service = createWriter();
  service.on('error', ({ code }) =>
    stop(
      code === 'EADDRINUSE'
        ? 'Port 4000 is in use: stop the agents of the tour (kill %1) or the other demo.'
        : `The agents cannot be played: ${code}`,
    ),
  );
  // The agents keep this address, so that a later call plays them again.
  await once(service.listen(4000, '127.0.0.1'), 'listening');
  say('Adding what is missing …');
  const filling = fillDemo({ cadenza: CADENZA, token, writer: 'http://127.0.0.1:4000' });
  const { people, notes, runs } = await filling.catch(({ message }) => stop(message));
  const claims = await addClaim({ cadenza: CADENZA, token }).catch(({ code, message }) =>
    stop(code === 'EADDRINUSE' ? `${PLAYERS} is in use: stop examples/claim/run.mjs.` : message),
  );
  say(`${runs + claims} runs started. Look at ${CADENZA}/console/`);
  for (const person of people) say(`  ${person.username}  password ${person.password}`);
  if (people.length > 0) say('Log in as one of them to decide what waits; the passwords are shown once.');
  for (const note of notes) say(note);
  say('This process plays the agents. Stop it with Ctrl-C.');
}
