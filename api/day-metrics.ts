/** What workflows and agents did since midnight, as Prometheus counters that the database has. */
import { RUN_LENGTHS } from '../domain/runs/hours.ts';
import { HUMAN_SECONDS, type DayFigures, type HumanDay } from '../domain/operations/day-figures.ts';

const RUN_CHANGES = ['started', 'completed', 'faulted', 'cancelled'] as const;
const HUMAN_HELP = {
  claim: 'From the creation of a human task to its first claim, of those since midnight (UTC)',
  decide: 'From the creation of a human task to its decision, of tasks decided since midnight (UTC)',
};

export function dayText(figures: DayFigures): string {
  const { workflows, agents, spending, humans, eventLagSeconds } = figures;
  const used = [
    ...USED.map(([name, help, value]) => ofUsed(`agent_${name}`, help, 'agent', agents, value)),
    ...USED.map(([name, help, value]) => ofUsed(`workflow_${name}`, help, 'workflow', spending, value)),
  ];
  return [
    metric(
      'workflow_runs_total',
      'counter',
      'Runs that started and ended since midnight (UTC)',
      workflows.flatMap((workflow) =>
        RUN_CHANGES.map(
          (change) => `{workflow="${workflow.workflow}",change="${change}"} ${workflow[change]}`,
        ),
      ),
    ),
    histogram(
      'workflow_run_duration_seconds',
      'Duration of the runs that completed since midnight (UTC)',
      RUN_LENGTHS.map(({ seconds }) => seconds),
      workflows.map(({ workflow, completed, lengths, total_seconds }) => ({
        workflow,
        counts: [...lengths, completed],
        total_seconds,
      })),
    ),
    ...used,
    ofPeople(humans, 'claim'),
    ofPeople(humans, 'decide'),
    metric('event_lag_seconds', 'gauge', 'Age of the oldest event that deliveries were not looked for', [
      ` ${eventLagSeconds}`,
    ]),
  ].join('');
}

type Used = Omit<DayFigures['agents'][number], 'agent'>;

const USED: readonly [name: string, help: string, value: (used: Used) => number][] = [
  ['metered_calls_total', 'Calls of agents whose usage was booked', (used) => used.invocations],
  ['input_tokens_total', 'Tokens that were read', (used) => used.input_tokens],
  ['output_tokens_total', 'Tokens that were written', (used) => used.output_tokens],
  ['cost_usd_total', 'US dollars that were spent', (used) => used.cost_usd],
];

function ofUsed<Label extends string>(
  name: string,
  help: string,
  label: Label,
  series: readonly (Used & Record<Label, string>)[],
  value: (used: Used) => number,
): string {
  const lines = series.map((used) => `{${label}="${used[label]}"} ${value(used)}`);
  return metric(name, 'counter', `${help} since midnight (UTC)`, lines);
}

function ofPeople(humans: readonly HumanDay[], what: HumanDay['what']): string {
  const days = humans.filter((day) => day.what === what);
  return histogram(`human_task_${what}_seconds`, HUMAN_HELP[what], HUMAN_SECONDS, days);
}

/** `counts`: those within each bound, and at the end all. */
function histogram(
  name: string,
  help: string,
  bounds: readonly number[],
  series: readonly Pick<HumanDay, 'workflow' | 'counts' | 'total_seconds'>[],
): string {
  const lines = series.flatMap(({ workflow, counts, total_seconds: seconds }) => [
    ...counts.map(
      (count, place) => `_bucket{workflow="${workflow}",le="${bounds[place] ?? '+Inf'}"} ${count}`,
    ),
    `_sum{workflow="${workflow}"} ${seconds}`,
    `_count{workflow="${workflow}"} ${counts.at(-1) ?? 0}`,
  ]);
  return metric(name, 'histogram', help, lines);
}

/** Labels are ids and fixed words, so nothing in them needs an escape. */
function metric(name: string, type: string, help: string, lines: readonly string[]): string {
  const full = `cadenza_${name}`;
  const head = `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n`;
  return head + lines.map((line) => `${full}${line}\n`).join('');
}
