/** Limits of the calls of one agent, kept across workers (docs/agents.md#limits). */
import * as z from 'zod';

const seconds = (max: number) => z.number().positive().max(max);
const DAY_S = 86_400;

const rate = z.strictObject({
  calls: z.int().min(1).max(1_000_000),
  per: z.enum(['second', 'minute', 'hour', 'day']),
});

const breaker = z.strictObject({
  failures: z.int().min(1).max(10_000).meta({
    description: 'So many failures of the counterpart (communication and timeout), with no success between.',
  }),
  within: seconds(DAY_S).optional().meta({ description: 'Seconds in which they occur. Default: 60.' }),
  open_for: seconds(DAY_S)
    .optional()
    .meta({ description: 'Seconds before one call may try whether the agent works. Default: 30.' }),
});

export const agentLimitsSchema = z
  .strictObject({
    concurrency: z.int().min(1).max(100_000).optional().meta({ description: 'Calls at once.' }),
    rate: rate.optional().meta({ description: 'Calls in a time, evenly spread; so many may come at once.' }),
    breaker: breaker.optional(),
  })
  .meta({ id: 'AgentLimits' });

export type AgentLimits = z.infer<typeof agentLimitsSchema>;

export const PER_SECONDS: Readonly<Record<z.infer<typeof rate>['per'], number>> = {
  second: 1,
  minute: 60,
  hour: 3_600,
  day: DAY_S,
};
export const BREAKER_WITHIN_S = 60;
export const BREAKER_OPEN_S = 30;

export const CIRCUIT_STATES = ['closed', 'open', 'half_open'] as const;
export type CircuitState = (typeof CIRCUIT_STATES)[number];
