/** What has to be true after the load, whatever has failed meanwhile. Each check lists what is not. */
import { isTerminal, EVENT } from '../../../contracts/run-events.ts';
import { EFFECTS } from './definitions.ts';
import type { Disturbance, Evidence, RunRow, ScheduleEvidence } from './evidence.ts';
import type { Decision, Start } from './load.ts';

export const FLAWS = ['lost', 'doubled', 'gap', 'stuck', 'wrong'] as const;
export type Flaw = (typeof FLAWS)[number];

interface Finding {
  flaw: Flaw;
  text: string;
}

export interface Checked {
  name: string;
  /** How many things were looked at. */
  count: number;
  findings: readonly Finding[];
  /** What is no flaw, but worth knowing. */
  note?: string;
}

type Check = (evidence: Evidence) => Omit<Checked, 'name'>;

/** A repeat may follow so long after the fault that has cut the first call off. */
const REPEAT_AFTER_MS = 90_000;

const finding = (flaw: Flaw, text: string): Finding => ({ flaw, text });

/** Each accepted start has one run, also if it was sent twice; a refused one has none. */
const starts: Check = ({ ledger, runs }) => {
  const byOp = groupBy(
    runs.filter(({ op }) => op !== null),
    ({ op }) => op ?? '',
  );
  const findings = ledger.starts.flatMap((start) => {
    const found = byOp.get(start.op) ?? [];
    const what = `${start.kind} ${start.op}`;
    if (start.outcome === 'accepted' && found.length === 0) return [finding('lost', `${what} has no run`)];
    if (found.length > 1) return [finding('doubled', `${what} has ${found.length} runs`)];
    if (start.outcome === 'refused' && found.length > 0)
      return [finding('wrong', `${what} was refused and has a run`)];
    const [run] = found;
    if (start.runIds.length > 1 || (run && start.runIds[0] !== undefined && start.runIds[0] !== run.id))
      return [finding('wrong', `${what}: answers named ${start.runIds.join(', ')}, the run is ${run?.id}`)];
    return [];
  });
  return { count: ledger.starts.length, findings };
};

/** Every run ends, as its definition says, and the API says the same as the database. */
const ends: Check = ({ ledger, runs, disturbances }) => {
  const byOp = new Map(ledger.starts.map((start) => [start.op, start]));
  let late = 0;
  const findings = runs.flatMap((run) => {
    if (!isTerminal(run.status)) return [finding('stuck', `${nameOf(run)} is ${run.status}`)];
    if (isCutShort(run, disturbances)) {
      late += 1;
      return [];
    }
    const expected = expectedStatus(run, byOp.get(run.op ?? ''));
    if (!expected.includes(run.status))
      return [finding('wrong', `${nameOf(run)} is ${run.status}: ${JSON.stringify(run.error)}`)];
    if (run.listed_status !== run.status)
      return [finding('wrong', `${nameOf(run)} is ${run.status}, and listed as ${run.listed_status}`)];
    return [];
  });
  return { count: runs.length, findings, note: `${late} faulted at a timeout of 5 s` };
};

/** A short call has to end within five seconds: while its worker is frozen, say, it does not. */
function isCutShort(run: RunRow, disturbances: readonly Disturbance[]): boolean {
  const { workflow, status, error, created_at, finished_at } = run;
  const hasShortCalls = workflow === 'short' || workflow === 'approval';
  if (!hasShortCalls || status !== 'faulted' || error?.type?.endsWith('/timeout') !== true) return false;
  return isDisturbed(disturbances, created_at, finished_at ?? created_at);
}

function expectedStatus(run: RunRow, start: Start | undefined): readonly string[] {
  if (run.workflow === 'waiter') return ['cancelled'];
  if (start?.kind === 'cancelled')
    return start.cancel === 'accepted' ? ['cancelled'] : ['cancelled', 'completed'];
  return ['completed'];
}

/** The events of each run are numbered without a gap, and end with the run's end, once. */
const logs: Check = ({ runs, events }) => {
  const byRun = groupBy(events, ({ run_id }) => run_id);
  const ENDS: readonly string[] = [EVENT.runCompleted, EVENT.runFaulted, EVENT.runCancelled];
  const findings = runs.flatMap((run) => {
    const log = byRun.get(run.id) ?? [];
    const gap = log.findIndex(({ seq }, n) => seq !== n + 1);
    if (gap >= 0) return [finding('gap', `${nameOf(run)}: seq ${log[gap]?.seq} in place of ${gap + 1}`)];
    if (log.length !== run.last_seq)
      return [finding('gap', `${nameOf(run)}: ${log.length} events, last_seq ${run.last_seq}`)];
    if (!isTerminal(run.status)) return [];
    const last = log.filter(({ type }) => ENDS.includes(type));
    if (last.length > 1) return [finding('doubled', `${nameOf(run)} has ended ${last.length} times`)];
    if (last.length === 0 || last[0] !== log.at(-1))
      return [finding('wrong', `${nameOf(run)}: its log ends with ${log.at(-1)?.type}`)];
    return [];
  });
  return { count: events.length, findings };
};

/** An accepted decision is the one that was applied, once; nothing else was. */
const decisions: Check = ({ ledger, tasks, runs, events }) => {
  const byTask = groupBy(ledger.decisions, ({ taskId }) => taskId);
  const outputs = new Map(runs.map((run) => [run.id, run]));
  const applied = countBy(
    events.filter(({ type }) => type === EVENT.decisionApplied),
    ({ run_id }) => run_id,
  );
  const findings = tasks.flatMap((task) => {
    const sent = byTask.get(task.id) ?? [];
    const accepted = sent.filter(({ outcome }) => outcome === 'accepted');
    const stored = sent.find(({ comment }) => comment === task.comment);
    const run = outputs.get(task.run_id);
    const what = `task ${task.id} of ${run ? nameOf(run) : task.run_id}`;
    if (accepted.length > 1) return [finding('doubled', `${what}: ${accepted.length} accepted decisions`)];
    if (accepted[0] && accepted[0] !== stored)
      return [finding('lost', `${what}: accepted ${accepted[0].decision}, stored ${task.decision}`)];
    if (task.status === 'decided' && (stored === undefined || stored.outcome === 'refused'))
      return [finding('wrong', `${what}: a decision was stored that was refused or never sent`)];
    if (task.status !== 'decided') return [];
    const times = applied.get(task.run_id) ?? 0;
    if (times > 1) return [finding('doubled', `${what}: applied ${times} times`)];
    if (times === 0 || !task.applied) return [finding('lost', `${what}: it was not applied`)];
    // A run that faults at a timeout has no output.
    if (run?.status !== 'completed') return [];
    const { decision, comment } = run.output ?? {};
    return decision === task.decision && comment === task.comment
      ? []
      : [finding('wrong', `${what}: the run went on with ${decision}, decided was ${task.decision}`)];
  });
  const counts = countBy(ledger.decisions, ({ outcome }) => outcome);
  const expired = tasks.filter(({ status }) => status === 'expired').length;
  const of = (outcome: Decision['outcome']): string => `${counts.get(outcome) ?? 0} ${outcome}`;
  const note = `${of('accepted')}, ${of('refused')}, ${expired} expired`;
  return { count: ledger.decisions.length, findings, note };
};

/** Each step of a completed run has had its effect, under one key. */
const effects: Check = ({ ledger, runs, calls }) => {
  const statuses = new Map(runs.map((run) => [run.op, run.status]));
  const keys = new Map<string, Set<string>>();
  for (const { effect, key } of calls) keys.set(effect, (keys.get(effect) ?? new Set()).add(key));
  const findings: Finding[] = [];
  for (const { op, kind } of ledger.starts) {
    if (statuses.get(op) !== 'completed') continue;
    for (const step of EFFECTS[kind])
      if (!keys.has(`${op}/${step}`)) findings.push(finding('lost', `${op}/${step} was never called`));
  }
  const flaky = new Set(ledger.starts.filter(({ kind }) => kind === 'flaky').map(({ op }) => `${op}/call`));
  for (const [effect, { size }] of keys)
    if (size > (flaky.has(effect) ? 2 : 1))
      findings.push(finding('doubled', `${effect} was called with ${size} keys`));
  return { count: keys.size, findings };
};

/** A key is called again only after a fault, and never after its outcome is recorded. */
const repeats: Check = ({ calls, invocations, disturbances }) => {
  const byKey = groupBy(calls, ({ key }) => key);
  const recorded = new Map(invocations.map((row) => [row.key, row]));
  let repeated = 0;
  const findings = [...byKey].flatMap(([key, [first, ...again]]) => {
    repeated += again.length;
    const row = recorded.get(key);
    if (row === undefined) return [finding('lost', `${key} was called, and no record has it`)];
    const late = again.find(({ at }) => row.finished_at !== null && at > row.finished_at);
    if (late) return [finding('doubled', `${key} was called again after its outcome was recorded`)];
    const causeless = again.find(({ at }) => !isDisturbed(disturbances, first!.at - REPEAT_AFTER_MS, at));
    if (causeless) return [finding('doubled', `${key} was called again without a fault`)];
    return [];
  });
  return { count: calls.length, findings, note: `${repeated} calls repeated after faults, with their keys` };
};

function isDisturbed(disturbances: readonly Disturbance[], from: number, to: number): boolean {
  return disturbances.some((fault) => fault.from <= to && fault.to >= from);
}

/**
 * Each call has one outcome: the answers that the record, the log and the run's output have are the same.
 * (The record may lack it, where PostgreSQL was away and Temporal has it.)
 */
const outcomes: Check = ({ ledger, invocations, logged, runs, calls }) => {
  const keyOf = new Map(calls.map(({ nonce, key }) => [nonce, key]));
  const known = new Map<string, Set<number>>();
  const findings: Finding[] = [];
  const add = (nonce: number, of: string): void => {
    const key = keyOf.get(nonce);
    if (key === undefined)
      findings.push(finding('wrong', `${of} has the answer ${nonce}, which nobody gave`));
    else known.set(key, (known.get(key) ?? new Set()).add(nonce));
  };
  for (const { key, nonce } of invocations) {
    if (nonce === null) continue;
    if (keyOf.get(nonce) !== key)
      findings.push(finding('wrong', `${key} has the answer of ${keyOf.get(nonce)}`));
    add(nonce, key);
  }
  for (const nonce of logged) add(nonce, 'the log');
  for (const run of runs) {
    const nonces: unknown[] = Array.isArray(run.output?.nonces) ? run.output.nonces : [];
    for (const nonce of nonces) add(Number(nonce), nameOf(run));
  }
  for (const [key, nonces] of known)
    if (nonces.size > 1)
      findings.push(finding('doubled', `${key} has the outcomes ${[...nonces].join(' and ')}`));
  const statuses = new Map(runs.map((run) => [run.id, run.status]));
  const flaky = new Set(ledger.starts.filter(({ kind }) => kind === 'flaky').flatMap(({ runIds }) => runIds));
  for (const { key, run_id } of invocations)
    if (!known.has(key) && statuses.get(run_id) === 'completed' && !flaky.has(run_id))
      findings.push(finding('lost', `${key} has no outcome`));
  return { count: invocations.length, findings };
};

/** An accepted event reached the run that listened, once and in order, or started one run. */
const eventsIn: Check = ({ ledger, runs }) => {
  const starts = countBy(
    runs.flatMap(({ started_by }) => started_by ?? []),
    (id) => id,
  );
  const findings = ledger.events.flatMap(({ op, type, n, outcome, ids }) => {
    const what = `${type} ${op}/${n}`;
    if (ids.length > 1) return [finding('doubled', `${what} has ${ids.length} records`)];
    if (outcome !== 'accepted' || type !== 'faults.spark') return [];
    const count = starts.get(ids[0] ?? '') ?? 0;
    if (count === 0) return [finding('lost', `${what} started no run`)];
    return count > 1 ? [finding('doubled', `${what} started ${count} runs`)] : [];
  });
  const byOp = groupBy(
    ledger.events.filter(({ type }) => type === 'faults.step'),
    ({ op }) => op,
  );
  for (const run of runs.filter(
    ({ workflow, status }) => workflow === 'listening' && status === 'completed',
  )) {
    const sent = (byOp.get(run.op ?? '') ?? []).map(({ n }) => n);
    if (JSON.stringify(run.output?.order) !== JSON.stringify(sent))
      findings.push(
        finding('wrong', `${nameOf(run)} got ${JSON.stringify(run.output)}, sent ${sent.join()}`),
      );
  }
  return { count: ledger.events.length, findings };
};

/** Of times closer than this, which may be skipped, one waits until that before it is decided (ADR 32). */
const QUICK_MS = 60_000;

/**
 * Each due time of a schedule has one run, or a note that it was skipped where the schedule allows that.
 * Times in quick succession may also pass while an earlier one waits to be decided.
 */
const schedules: Check = ({ schedules: all }) => {
  let count = 0;
  const findings = all.flatMap(({ name, everyMs, overlaps, from, to, runs, notes }) => {
    const started = countBy(runs, (at) => at);
    const skips = notes.filter(({ outcome }) => outcome === 'skipped');
    const skipped = new Set(skips.map(({ at }) => at));
    // A start may take so long that it finds the schedule paused, as it is at the end.
    const paused = new Set(skips.filter(({ detail }) => detail?.includes('paused')).map(({ at }) => at));
    const found: Finding[] = [];
    for (let at = Math.ceil(from / everyMs) * everyMs; at <= to; at += everyMs) {
      count += 1;
      const times = started.get(at) ?? 0;
      const what = `${name} at ${new Date(at).toISOString()}`;
      if (times > 1) found.push(finding('doubled', `${what}: ${times} runs`));
      const passed = !overlaps && everyMs < QUICK_MS && isUndecided(notes, at);
      if (times === 0 && !passed && !(overlaps ? paused : skipped).has(at))
        found.push(finding('lost', `${what}: no run`));
      if (times > 0 && skipped.has(at)) found.push(finding('wrong', `${what}: a run, though it was skipped`));
    }
    const odd = runs.filter((at) => at % everyMs !== 0);
    return [
      ...found,
      ...odd.map((at) => finding('wrong', `${name}: a run of ${new Date(at).toISOString()}`)),
    ];
  });
  return { count, findings };
};

/** Whether an earlier time was still to be decided at this one. */
function isUndecided(notes: ScheduleEvidence['notes'], time: number): boolean {
  return notes.some(({ at, decided_at }) => at < time && decided_at >= time);
}

/** Parents and children agree about how the child has ended; none outlives a parent that awaits it. */
const children: Check = ({ children: links, runs }) => {
  const byId = new Map(runs.map((run) => [run.id, run]));
  const findings = links.flatMap(({ run_id, child_run_id, status }) => {
    const [parent, child] = [byId.get(run_id), byId.get(child_run_id)];
    if (!parent || !child) return [finding('lost', `the child ${child_run_id} of ${run_id} is not there`)];
    const what = `${nameOf(child)}, child of ${nameOf(parent)},`;
    if (isTerminal(parent.status) && !child.detached && !isTerminal(child.status))
      return [finding('stuck', `${what} is ${child.status}, and its parent ${parent.status}`)];
    if (!child.detached && status === 'completed' && child.status !== 'completed')
      return [finding('wrong', `${what} is ${child.status}, and its task completed`)];
    return [];
  });
  const started = countBy(
    runs.filter(({ parent_run_id }) => parent_run_id !== null),
    ({ parent_run_id }) => parent_run_id ?? '',
  );
  for (const run of runs.filter(({ workflow, status }) => workflow === 'parent' && status === 'completed')) {
    const count = started.get(run.id) ?? 0;
    if (count !== 3)
      findings.push(finding(count < 3 ? 'lost' : 'doubled', `${nameOf(run)} has ${count} children`));
  }
  return { count: links.length, findings };
};

/** A webhook gets each event at least once, and for the first time in the order of the log. */
const webhooks: Check = ({ hooked, receipts }) => {
  const { findings, again } = delivered(
    hooked,
    receipts.map(({ id }) => id),
  );
  return { count: hooked.length, findings, note: `${again} delivered again` };
};

/**
 * So does a client that follows the stream, from when it first connects: after each break it continues with
 * `Last-Event-ID`.
 */
const streams: Check = ({ hooked, streamed, connections }) => {
  const { findings, again } = delivered(
    hooked.slice(Math.max(hooked.indexOf(streamed[0] ?? ''), 0)),
    streamed,
  );
  return { count: hooked.length, findings, note: `${again} sent again, ${connections} connections` };
};

function delivered(log: readonly string[], ids: readonly string[]): { findings: Finding[]; again: number } {
  const first = [...new Set(ids)];
  const received = new Set(first);
  const findings = log
    .filter((id) => !received.has(id))
    .map((id) => finding('lost', `event ${id} was not delivered`));
  const places = new Map(log.map((id, n) => [id, n]));
  let last = -1;
  for (const id of first) {
    const place = places.get(id);
    if (place === undefined) findings.push(finding('wrong', `delivered ${id}, which is not in the log`));
    else if (place < last) findings.push(finding('wrong', `event ${id} was delivered after later ones`));
    last = Math.max(last, place ?? -1);
  }
  return { findings, again: ids.length - first.length };
}

/** Every accepted change has its entry, and the chain is whole. */
const audit: Check = ({ ledger, audit: { problems, counts } }) => {
  const findings = problems.map((text) => finding('wrong', text));
  const expected: Readonly<Record<string, readonly { outcome?: string }[]>> = {
    runWorkflow: ledger.starts,
    decideHumanTask: ledger.decisions,
    cancelRun: ledger.starts.map(({ cancel }) => (cancel === undefined ? {} : { outcome: cancel })),
  };
  let total = 0;
  for (const [action, all] of Object.entries(expected)) {
    const accepted = all.filter(({ outcome }) => outcome === 'accepted').length;
    const most = accepted + all.filter(({ outcome }) => outcome === 'unknown').length;
    const count = counts[action] ?? 0;
    total += count;
    if (count < accepted) findings.push(finding('lost', `${action}: ${count} entries of ${accepted}`));
    if (count > most) findings.push(finding('doubled', `${action}: ${count} entries of ${most}`));
  }
  return { count: total, findings };
};

/** What a budget has counted is the sum of the usage, and nothing is reserved any more. */
const budgets: Check = ({ budget: { used, reserved, costUsd, usage, usageCostUsd } }) => {
  const findings: Finding[] = [];
  if (reserved !== 0) findings.push(finding('stuck', `${reserved} calls are still reserved`));
  if (used !== usage)
    findings.push(
      finding(used < usage ? 'lost' : 'doubled', `the budget has ${used} calls, the usage ${usage}`),
    );
  if (Math.abs(costUsd - usageCostUsd) > 1e-6)
    findings.push(finding('wrong', `the budget has ${costUsd} USD, the usage ${usageCostUsd} USD`));
  return { count: used, findings };
};

/** The statistics of runs count each start and each end once. */
const statistics: Check = ({ runs, stats }) => {
  const counts = countBy(runs, ({ status }) => status);
  const expected = {
    started: runs.length,
    completed: counts.get('completed') ?? 0,
    faulted: counts.get('faulted') ?? 0,
    cancelled: counts.get('cancelled') ?? 0,
  };
  const findings = (Object.keys(expected) as (keyof typeof expected)[])
    .filter((name) => stats[name] !== expected[name])
    .map((name) => {
      const flaw = stats[name] < expected[name] ? 'lost' : 'doubled';
      return finding(flaw, `${name}: ${stats[name]}, and there are ${expected[name]}`);
    });
  return { count: runs.length, findings };
};

/** Nothing is open of a run that is over. */
const closed: Check = ({ leftOver, runs }) => ({
  count: runs.length,
  findings: leftOver.map((text) => finding('stuck', text)),
});

/** Clients get answers that they can act on: no 500, and no refusal of what is allowed. */
const answers: Check = ({ ledger: { seen, refusals } }) => {
  const findings = [...seen.odd, ...refusals].map((text) => finding('wrong', text));
  const count = Object.values(seen.statuses).reduce((sum, each) => sum + each, 0);
  const note = Object.entries(seen.statuses)
    .map(([status, times]) => `${status === '0' ? 'none' : status}: ${times}`)
    .join(', ');
  return { count, findings, note };
};

/** Processes end only by faults, and what is told to stop drains and ends in order. */
const processes: Check = ({ exits }) => ({
  count: exits.length,
  findings: exits
    .filter(({ expected }) => !expected)
    .map(({ role, code, signal, at }) =>
      finding(
        'wrong',
        `${role} ended by itself at ${new Date(at).toISOString()} (${signal ?? `exit code ${code}`})`,
      ),
    ),
});

const CHECKS: Readonly<Record<string, Check>> = {
  'accepted starts': starts,
  'ends of runs': ends,
  'events in logs': logs,
  decisions,
  effects,
  'calls by key': repeats,
  'outcomes of calls': outcomes,
  'events sent in': eventsIn,
  'times of schedules': schedules,
  'child runs': children,
  'webhook events': webhooks,
  'events of streams': streams,
  'audit entries': audit,
  'calls in budgets': budgets,
  'statistics of runs': statistics,
  'left open': closed,
  'answers to clients': answers,
  'ends of processes': processes,
};

export function checkAll(evidence: Evidence): Checked[] {
  return Object.entries(CHECKS).map(([name, check]) => ({ name, ...check(evidence) }));
}

function nameOf({ workflow, id, op }: RunRow): string {
  return `run ${id} (${workflow}${op === null ? '' : ` ${op}`})`;
}

function groupBy<T>(values: readonly T[], keyOf: (value: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const key = keyOf(value);
    const group = groups.get(key);
    if (group) group.push(value);
    else groups.set(key, [value]);
  }
  return groups;
}

function countBy<T, K>(values: readonly T[], keyOf: (value: T) => K): Map<K, number> {
  const counts = new Map<K, number>();
  for (const value of values) counts.set(keyOf(value), (counts.get(keyOf(value)) ?? 0) + 1);
  return counts;
}
