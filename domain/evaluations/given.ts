/** What an evaluation is made of. */
import type { Check } from './checks.ts';

export interface EvaluationCase {
  id?: string | undefined;
  input: unknown;
  /** Absent: any output. */
  expected?: unknown;
  checks?: Check[] | undefined;
  /** Default 1. */
  weight?: number | undefined;
}

/** The agent that judges the outputs. */
export interface Judge {
  agent_id: string;
  /** Its name when the evaluation was started. */
  agent: string;
  version: string;
  criteria: string | null;
  /** jq on what it answers; null: `DEFAULT_PASS`. */
  pass: string | null;
}
