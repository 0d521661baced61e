/**
 * The long fault run: `npm run faults -- [--minutes N] [--seed S] [--rate R] [--keep]`. A whole platform
 * works under load while its parts are killed, frozen, cut off and starved; then all is healed, and what
 * clients were promised is compared with what there is (docs/reliability.md). Exits with 1 if they
 * differ.
 */
import { randomInt } from 'node:crypto';
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { checkAll } from './checks.ts';
import { collect, openWork, type DueTimes } from './collect.ts';
import { startCounterpart } from './counterpart.ts';
import { createCaller, nothingSeen } from './caller.ts';
import type { Disturbance, Evidence } from './evidence.ts';
import { createExpectations } from './expectations.ts';
import { followEvents } from './follower.ts';
import { startLoad } from './load.ts';
import { describeFault, planFaults, type Fault } from './plan.ts';
import { startFaultyPlatform, type FaultyPlatform } from './platform.ts';
import { listOf, tableOf } from './report.ts';
import { setUp, WEBHOOK_TYPES, type Scene } from './setup.ts';
import { untilTimesHaveCome } from './due-schedules.ts';
import { CLOCK_SECONDS } from './definitions.ts';
import { createTroublemaker } from './troubles.ts';

/** Once all is healed, what makes no progress for so long is stuck; the rest may need long. */
const STUCK_AFTER_MS = 4 * 60_000;
const LONGEST_WAIT_MS = 30 * 60_000;
/** How long clients still try once all is healed. */
const CLIENTS_MS = 2 * 60_000;
const LOOK_MS = 1_000;
/** For what was due while all was disturbed. */
const SETTLE_MS = 45_000;
/** Temporal learns of a new schedule, and that one is paused, by the reconciler. */
const SCHEDULES_MS = 15_000;
/** The workflows that start by the clock. */
const CLOCKS = ['clock', 'turns'];

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string' },
    rate: { type: 'string', default: '2' },
    keep: { type: 'boolean', default: false },
  },
});
const minutes = Number(values.minutes);
const rate = Number(values.rate);
const seed = values.seed === undefined ? randomInt(1, 1_000_000) : Number(values.seed);
if (!(minutes > 0) || !(rate > 0) || !Number.isInteger(seed)) {
  console.error('usage: npm run faults -- [--minutes N] [--seed S] [--rate STARTS_PER_SECOND] [--keep]');
  process.exit(2);
}

const began = Date.now();
const print = (text: string): void => console.log(`[${((Date.now() - began) / 1_000).toFixed(1)} s] ${text}`);
const folder = mkdtempSync(join(tmpdir(), 'cadenza-faults-'));
const expectations = createExpectations();
const disturbances: Disturbance[] = [];
const counterpart = await startCounterpart();
let platform: FaultyPlatform | null = null;
let failed = true;
let evidence: Evidence | null = null;
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => void finish().finally(() => process.exit(1)));

try {
  print(`seed ${seed}, ${minutes} minutes, ${rate} starts a second; folder ${folder}`);
  platform = await startFaultyPlatform({ folder, print, exited: expectations.note });
  const scene = await setUp({
    urls: platform.urls,
    adminPassword: platform.adminPassword,
    counterpartUrl: counterpart.url,
    minutes,
  });
  print('the platform works; the load begins');
  evidence = await loadAndFaults(platform, scene);
  const checked = checkAll(evidence);
  console.log(`\n${summaryOf(evidence)}\n\n${tableOf(checked)}\n\n${listOf(checked)}`);
  failed = checked.some(({ findings }) => findings.length > 0);
} catch (error) {
  console.error(error);
} finally {
  await finish();
}
process.exit(failed ? 1 : 0);

async function loadAndFaults(on: FaultyPlatform, scene: Scene): Promise<Evidence> {
  const loadBegan = Date.now();
  const follower = followEvents({ urls: on.urls, token: scene.tokens.owner, types: WEBHOOK_TYPES.join() });
  const load = startLoad(scene, on.urls, rate);
  const troubles = createTroublemaker(on);
  const plan = planFaults(seed, minutes);
  const making = plan.map((fault) => make(troubles, fault, loadBegan));
  await sleep(minutes * 60_000);
  load.stop();
  await Promise.all(making);
  troubles.healAll();
  const healed = Date.now();
  print('all is healed; waiting for the ends');
  const due: DueTimes = { from: loadBegan + SCHEDULES_MS, to: healed };
  // A time whose start is still under way would be skipped.
  await sleep(SETTLE_MS);
  const { clock = '', turns = '' } = scene.workflows;
  const schedules = [
    { workflowId: clock, everyMs: CLOCK_SECONDS * 1_000, from: due.from },
    { workflowId: turns, everyMs: scene.turnsSeconds * 1_000, from: due.from },
  ];
  await untilTimesHaveCome(on.databaseUrl, schedules, healed);
  await pauseSchedules(on, scene);
  const tries = setTimeout(() => load.giveUp(), CLIENTS_MS);
  await load.done;
  clearTimeout(tries);
  await sleep(SCHEDULES_MS);
  const left = await untilNothingIsOpen(on);
  await load.end();
  const seconds = Math.round((Date.now() - healed) / 1_000);
  print(left === 0 ? `all has ended, ${seconds} s after the last fault` : `${left} things are still open`);
  // Seals of the audit log.
  await sleep(SCHEDULES_MS);
  await follower.stop();
  const found = await collect(on, scene, due);
  return {
    ...found,
    ledger: load.ledger,
    calls: counterpart.calls,
    receipts: counterpart.receipts,
    streamed: follower.ids,
    connections: follower.connections,
    exits: expectations.exits(),
    disturbances,
  };
}

async function make(
  troubles: ReturnType<typeof createTroublemaker>,
  fault: Fault,
  loadBegan: number,
): Promise<void> {
  await sleep(loadBegan + fault.atMs - Date.now());
  const text = describeFault(fault);
  const from = Date.now();
  expectations.expect(fault);
  const made = await troubles.make(fault.trouble).catch((error: unknown) => ({ skipped: String(error) }));
  if ('skipped' in made) {
    print(`skipped: ${text}: ${made.skipped}`);
    return;
  }
  print(text);
  await sleep(fault.forMs);
  made.end();
  disturbances.push({ from, to: Date.now(), text });
}

async function pauseSchedules(on: FaultyPlatform, scene: Scene): Promise<void> {
  const owner = createCaller({
    urls: on.urls,
    token: scene.tokens.owner,
    seen: nothingSeen(),
    hasTime: () => true,
  });
  for (const name of CLOCKS)
    await owner.ask('PATCH', `/workflows/${scene.workflows[name]}/schedule`, { paused: true });
}

/** @returns how much is open; null: PostgreSQL does not answer */
async function untilNothingIsOpen(on: FaultyPlatform): Promise<number | null> {
  const from = Date.now();
  let [done, progressAt] = [0, from];
  for (let calm = 0; ; await sleep(LOOK_MS)) {
    const work = await openWork(on.databaseUrl);
    // Parents start children, and events runs.
    calm = work?.open === 0 ? calm + 1 : 0;
    const now = Date.now();
    if (work !== null && work.done > done) [done, progressAt] = [work.done, now];
    const isLate = now - progressAt > STUCK_AFTER_MS || now - from > LONGEST_WAIT_MS;
    if (calm === 5 || isLate) return work?.open ?? null;
  }
}

function summaryOf({ disturbances: made }: Evidence): string {
  const kinds = new Map<string, number>();
  for (const { text } of made) {
    const kind = /kill|orderly stop|frozen|slow|cut|black hole|terminated|full disk|descriptors|clock/.exec(
      text,
    );
    const name = kind?.[0] ?? text;
    kinds.set(name, (kinds.get(name) ?? 0) + 1);
  }
  const list = [...kinds].map(([name, count]) => `${count} ${name}`).join(', ');
  return `${made.length} faults in ${minutes} minutes (seed ${seed}): ${list}`;
}

async function finish(): Promise<void> {
  const kept = join(tmpdir(), `cadenza-faults-${seed}-logs`);
  if (failed || values.keep) {
    mkKept(kept);
    console.error(`logs: ${kept}`);
  }
  await platform?.stop();
  platform = null;
  await counterpart.close();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}

/** The folder's disks go with it. */
function mkKept(kept: string): void {
  rmSync(kept, { recursive: true, force: true });
  const isLog = (path: string): boolean => path === folder || path.endsWith('.log');
  cpSync(folder, kept, { recursive: true, filter: (source) => isLog(source) });
  const postgres = join(folder, 'database/postgres.log');
  if (existsSync(postgres)) cpSync(postgres, join(kept, 'postgres.log'));
  writeFileSync(join(kept, 'evidence.json'), JSON.stringify(evidence ?? { disturbances }));
}
