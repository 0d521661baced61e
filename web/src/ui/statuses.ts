/** Statuses of runs, steps and human tasks. */
export type Status =
  | 'pending'
  | 'running'
  | 'waiting'
  | 'suspended'
  | 'cancelled'
  | 'faulted'
  | 'completed'
  | 'open'
  | 'claimed'
  | 'decided'
  | 'expired';
