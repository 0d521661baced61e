import { lengthText } from '../../ui/time.ts';
import { severityWords } from '../../ui/severity-words.ts';

export const words = {
  list: 'Workflows',
  document: (name: string) => `${name} · Workflow`,
  revision: (number: number) => `revision ${number}`,
  visibility: { private: 'private', public: 'visible to everyone' },
  ofTeam: (team: string) => `team ${team}`,
  changed: 'changed',
  edit: 'Edit',
  share: 'Share in the marketplace',
  installedFrom: (version: string, publisher: string) => `installed from ${publisher}, revision ${version}`,
  details: 'Details',
  start: 'Start',
  remove: 'Delete',
  removeTitle: (name: string) => `Delete ${name}?`,
  removeText: 'It disappears from the lists and starts no more runs. Runs that exist go on and are kept.',
  keep: 'Keep it',
  removed: (name: string) => `${name} is deleted.`,
  viewsLabel: 'Views of the workflow',
  show: (view: string) => `Show: ${view}`,
  shortcuts: {
    s: 'Start a run of this workflow',
    e: 'Edit this workflow',
    u: 'Back to the list',
    Escape: 'Back to the list',
  },
  views: { overview: 'Overview', revisions: 'Revisions', definition: 'Definition' },
  startTitle: 'Start a run',
  mayNotStart: 'To start runs one needs the role builder.',
  cannotStart: 'This revision cannot run. Its problems, under the picture, say why.',
  picture: 'Picture',
  task: 'The chosen task as JSON',
  problems: 'Problems',
  severities: severityWords,
  whole: 'whole definition',
  schedule: {
    title: 'Schedule',
    times: (schedule: {
      cron: string | null;
      every_seconds: number | null;
      after_seconds: number | null;
      events: string[] | null;
    }) =>
      schedule.cron ??
      (schedule.events === null ? null : `By events: ${schedule.events.join(', ')}`) ??
      (schedule.every_seconds === null
        ? `${lengthText((schedule.after_seconds ?? 0) * 1_000)} after the last run`
        : `Every ${lengthText(schedule.every_seconds * 1_000)}`),
    states: { active: 'active', paused: 'paused', blocked: 'blocked' },
    next: 'Next times, in your time zone',
    last: 'Last times',
    outcomes: { started: 'started', skipped: 'skipped', missed: 'missed', failed: 'failed' },
    overlap: 'If an earlier run has not ended',
    overlaps: { skip: 'skip the time', buffer_one: 'start after it', allow: 'start beside it' },
    pause: 'Pause',
    resume: 'Resume',
    trigger: 'Start now',
    edit: 'Change',
    editTitle: 'How it starts runs',
    save: 'Save',
    catchUp: 'Seconds that a run may be late',
    catchUpHelp: 'Such as after an outage. A time that is longer ago starts no run.',
    jitter: 'Most seconds of delay',
    jitterHelp: 'Each start waits a random time of at most this.',
    note: 'Note',
    backfill: 'Past times…',
    backfillTitle: 'Start the runs of past times',
    backfillHelp: 'A time that has a run starts no other one. At most 100 times, which may overlap.',
    from: 'From',
    to: 'To',
    backfillStart: 'Start them',
    backfilled: (count: number) =>
      count === 1 ? '1 past time has its run.' : `${count} past times have their runs.`,
  },
  health: 'Health',
  runs: 'Latest runs',
  allRuns: 'All runs',
  noRuns: 'It never ran.',
  started: (name: string) => `${name} has started.`,
  runColumns: { status: 'Status', subject: 'Subject', length: 'Duration', created: 'Created' },
  revisions: 'Revisions',
  revisionColumns: { number: 'Revision', state: 'State', created: 'Created', before: 'From', after: 'To' },
  compareFrom: (number: number) => `Compare from revision ${number}`,
  compareTo: (number: number) => `Compare to revision ${number}`,
  current: 'current',
  olderRevisions: 'Show older ones',
  comparison: (before: number, after: number) => `From revision ${before} to revision ${after}`,
  onlyRevision: 'There is one revision. A change of the definition makes the next one.',
  definition: 'Definition',
  language: 'Language of the definition',
};
