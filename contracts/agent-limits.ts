/** Limits of the calls of one agent, kept across workers (docs/agents.md#limits). */
import * as z from 'zod';

const seconds = (max: number) => z.number().positive().max(max);
const DAY_S = 86_400;

const rateFields = {
  calls: z.int().min(1).max(1_000_000),
  per: z.enum(['second', 'minute', 'hour', 'day']),
};
const RATE = 'Calls in a time, evenly spread; so many may come at once.';

const failures = z.int().min(1).max(10_000).meta({
  description: 'So many failures of the counterpart (communication and timeout), with no success between.',
});
const within = seconds(DAY_S).meta({ description: 'Seconds in which they occur. Default: 60.' });
const openFor = seconds(DAY_S).meta({
  description: 'Seconds before one call may try whether the agent works. Default: 30.',
});

const concurrency = z.int().min(1).max(100_000).meta({ description: 'Calls at once.' });

export const agentLimitsSchema = z
  .strictObject({
    concurrency: concurrency.optional(),
    rate: z.strictObject(rateFields).optional().meta({ description: RATE }),
    breaker: z.strictObject({ failures, within: within.optional(), open_for: openFor.optional() }).optional(),
  })
  .meta({ id: 'AgentLimits' });

/** Of a merge patch: null clears a field. */
export const agentLimitsPatch = z
  .strictObject({
    concurrency: concurrency.nullish(),
    rate: z
      .strictObject({ calls: rateFields.calls.nullish(), per: rateFields.per.nullish() })
      .nullish()
      .meta({ description: RATE }),
    breaker: z
      .strictObject({ failures: failures.nullish(), within: within.nullish(), open_for: openFor.nullish() })
      .nullish(),
  })
  .meta({ id: 'AgentLimitsPatch' });

export type AgentLimits = z.infer<typeof agentLimitsSchema>;

export const PER_SECONDS: Readonly<Record<z.infer<typeof rateFields.per>, number>> = {
  second: 1,
  minute: 60,
  hour: 3_600,
  day: DAY_S,
};
export const BREAKER_WITHIN_S = 60;
export const BREAKER_OPEN_S = 30;

export const CIRCUIT_STATES = ['closed', 'open', 'half_open'] as const;
export type CircuitState = (typeof CIRCUIT_STATES)[number];
