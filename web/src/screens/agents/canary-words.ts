export const words = {
  title: 'Canary',
  help:
    'A version that gets a share of the runs that name no version, while it is published. Set it before ' +
    'you publish the version, and end it when all calls shall go to the highest published version.',
  now: (version: string, percent: number, status: string | null) =>
    `${version} (${status ?? 'deleted'}) gets ${percent} % of the calls.`,
  set: 'Set the canary',
  setIt: 'Set',
  end: 'End the canary',
  percent: 'Share in percent',
  figures: 'Calls of the last 24 hours',
  none: 'No calls in the last 24 hours.',
  columns: {
    version: 'Version',
    calls: 'Calls',
    faults: 'Faults',
    latency: 'Latency p50 / p95',
    cost: 'Cost',
  },
  unknown: 'unknown',
};
