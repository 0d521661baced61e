import type { Evaluation } from '../../../../client/index.ts';

export const words = {
  title: 'Evaluations',
  help:
    'Tries versions side by side on a data set: the highest published version and the draft, unless ' +
    'versions are named. Every case is a real call.',
  none: 'No evaluations yet.',
  start: 'New evaluation',
  startIt: 'Start',
  name: 'Name',
  versions: 'Versions, the first one is what the others are compared with',
  file: 'File with the data set',
  fileHelp:
    'The id of a file under Files: a JSON array, or a line for each case ' +
    '{id, input, expected, checks, weight}.',
  judge: 'Agent that judges the outputs',
  criteria: 'What the judge goes by',
  columns: { name: 'Evaluation', status: 'Status', scores: 'Scores', created: 'Started' },
  unnamed: 'Evaluation',
  statuses: {
    running: 'running',
    completed: 'completed',
    faulted: 'faulted',
    cancelled: 'cancelled',
  } satisfies Record<Evaluation['status'], string>,
  back: 'All evaluations',
  run: 'The run with all calls',
  figures: 'Versions',
  figureColumns: {
    version: 'Version',
    score: 'Score',
    cases: 'Passed / failed / errors',
    changes: 'Regressed / improved',
    latency: 'Latency p50 / p95',
    cost: 'Cost',
  },
  unknownCost: 'unknown',
  cases: 'Cases',
  only: 'Show',
  marks: {
    '': 'all cases',
    failed: 'failed',
    error: 'errors',
    regressed: 'regressed',
    improved: 'improved',
    differs: 'different outputs',
  },
  noCases: 'No such cases.',
  number: (number: number, id?: string) => id ?? `Case ${number + 1}`,
  input: 'Input',
  expected: 'Expected',
  output: (version: string) => `Output of ${version}`,
  omitted: 'Too large to keep.',
  remove: 'Delete',
  removeTitle: 'Delete this evaluation?',
  removeText: 'Its report goes; its run stays.',
};
