/** What the configurations of several kinds of agents have in common. */
import * as z from 'zod';

/** A kind of agents: the keys of `configuration` that it uses. Other keys are kept. */
export interface AgentKind {
  configuration: z.ZodObject;
  /** Required keys. */
  keys: readonly string[];
  /** A required address, which the agent's `url` can replace. */
  orUrl?: string;
  /** An address that is not always required. */
  address?: string;
  /** Whether an agent without `address` is called at its `url`. */
  isCalledAtUrl?(configuration: Readonly<Record<string, unknown>>): boolean;
  /** What makes invocations fault and depends on several keys. */
  problems?(agent: KindFacts): KindProblem[];
  /** Default: true. */
  sendsCredentials?: false;
}

/** The parts of an agent's record that decide whether its configuration is complete. */
export interface KindFacts {
  configuration: Record<string, unknown>;
  url: string | null;
  authentication_type: string | null;
}

export interface KindProblem {
  /** Of `configuration`. */
  key: string;
  /** What is wrong, as the beginning of a sentence. */
  message: string;
}

/** A value of a header and the like. */
export const scalar = z.union([z.string(), z.number(), z.boolean()]);

const ISO_8601 =
  /^P(?!$)(\d+(\.\d+)?W)?(\d+(\.\d+)?D)?(T(?=\d)(\d+(\.\d+)?H)?(\d+(\.\d+)?M)?(\d+(\.\d+)?S)?)?$/;
const NO_DURATION = 'Expected milliseconds, ISO 8601 such as PT30S, or {"seconds": 30}';

/** Milliseconds, ISO 8601 without years and months, or the DSL's inline duration. */
export const duration = z.union(
  [
    z.number().positive(NO_DURATION),
    z.string().regex(ISO_8601, NO_DURATION),
    z.record(z.string(), z.number()),
  ],
  NO_DURATION,
);

/** With `idempotent: false`, an invocation with an unknown outcome is never repeated. */
export const retry = z.looseObject({ idempotent: z.boolean().optional() });
