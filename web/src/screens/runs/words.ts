const runs = (count: number) => (count === 1 ? '1 run' : `${count.toLocaleString()} runs`);

export const words = {
  title: 'Runs',
  shortcuts: {
    always: { j: 'Next run', k: 'Previous run', x: 'Select this run, to act on several at once' },
    selection: { Escape: 'Clear the selection' },
  },
  search: 'Search by workflow',
  status: 'Status',
  anyStatus: 'Any status',
  workflow: 'Workflow',
  anyWorkflow: 'Any workflow',
  otherWorkflow: 'This workflow',
  anyTeam: 'Any team',
  ofTeam: (name: string) => `team ${name}`,
  owner: 'Whose runs',
  owners: { '': 'Everybody’s', me: 'Mine' } as Readonly<Record<string, string>>,
  otherOwner: (name: string) => `Those of ${name}`,
  since: 'When',
  anyTime: 'Any time',
  periods: { PT1H: 'Last hour', P1D: 'Last 24 hours', P7D: 'Last 7 days', P30D: 'Last 30 days' } as Readonly<
    Record<string, string>
  >,
  tag: 'Tag',
  mark: 'Tag or label of the run',
  markHint: 'team=sales',
  marked: (mark: string) => `run ${mark}`,
  key: 'Key of the run',
  keyHint: 'Key',
  keyed: (key: string) => `key ${key}`,
  tagged: (tag: string) => `tag ${tag}`,
  list: 'Runs',
  empty: 'No runs yet. A run starts when somebody runs a workflow or calls an agent.',
  columns: {
    status: 'Status',
    workflow: 'Workflow',
    subject: 'Subject',
    waits: 'Waits for',
    owner: 'Owner',
    length: 'Duration',
    created: 'Created',
  },
  waits: { human: 'a person', event: 'an event', timer: 'a timer' },
  waitsIn: (what: string, task: string) => `${what} in ${task}`,
  selectAll: 'Select all that are shown',
  select: (workflow: string, subject: string) =>
    `Select ${subject === '' ? workflow : `${workflow}, ${subject}`}`,
  selected: (count: number) => `${count.toLocaleString()} selected`,
  clearSelection: 'Clear',
  actions: { suspend: 'Suspend', resume: 'Resume', retry: 'Retry', cancel: 'Cancel' },
  asks: {
    suspend: (count: number) => `Suspend ${runs(count)}?`,
    resume: (count: number) => `Resume ${runs(count)}?`,
    retry: (count: number) => `Retry ${runs(count)}?`,
    cancel: (count: number) => `Cancel ${runs(count)}?`,
  },
  explains: {
    suspend: 'Tasks in progress finish, and nothing new starts until the runs are resumed.',
    resume: 'The runs go on where they were suspended.',
    retry: 'Each starts a new run that continues at the task that failed.',
    cancel: 'Their open tasks and child runs end too. This cannot be undone.',
  },
  leftAlone: (count: number) =>
    count === 1
      ? '1 other selected run is left as it is, because this is not possible with it now.'
      : `${count.toLocaleString()} other selected runs are left as they are, ` +
        'because this is not possible with them now.',
  verb: {
    suspend: (count: number) => `Suspend ${runs(count)}`,
    resume: (count: number) => `Resume ${runs(count)}`,
    retry: (count: number) => `Retry ${runs(count)}`,
    cancel: (count: number) => `Cancel ${runs(count)}`,
  },
  back: 'Back',
  done: {
    suspend: (count: number) => `${runs(count)} suspended.`,
    resume: (count: number) => `${runs(count)} resumed.`,
    retry: (count: number) => `${runs(count)} started again.`,
    cancel: (count: number) => `${runs(count)} cancelled.`,
  },
  refused: (count: number, reason: string) => `${runs(count)} refused: ${reason}`,
};
