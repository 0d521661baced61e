/** Requests and records of evaluations (docs/evaluations.md). */
import * as z from 'zod';

import { MAX_CHECKS, MAX_EXPRESSION } from '../../../domain/evaluations/checks.ts';
import {
  EVALUATION_STATUSES,
  type CaseRow,
  type EvaluationRow,
} from '../../../domain/evaluations/evaluation.ts';
import { MARKS } from '../../../domain/evaluations/results.ts';
import { DRAFT } from '../../../domain/registry/choose-version.ts';
import { isVersionRange } from '../../../language/definition/version-range.ts';
import { personName } from '../../person-names.ts';
import { text, timestamp, uuid } from '../../schemas.ts';
import { dslErrorSchema } from '../runs/schemas.ts';

export const MAX_CASES = 1_000;
const MAX_VERSIONS = 5;
const MAX_CONCURRENCY = 48;
const MAX_CRITERIA = 10_000;

const expression = text({ min: 1, max: MAX_EXPRESSION });
const version = text({ min: 1, max: 200 }).refine(
  (value) => value === DRAFT || isVersionRange(value),
  'must be a semantic version, a range such as ^1.2.0, or draft',
);

const check = z
  .strictObject({
    name: text({ min: 1, max: 200 }).optional(),
    jq: expression.meta({
      description: 'jq on the output, with `$input` and `$expected`. It holds unless it is false or null.',
    }),
  })
  .meta({ id: 'EvaluationCheck' });
const checks = z.array(check).max(MAX_CHECKS);

const caseFields = {
  id: text({ min: 1, max: 200 }).optional(),
  input: z.unknown().default({}),
  expected: z.unknown().optional().meta({ description: 'The output that passes. Absent: any.' }),
  checks: checks.optional(),
  weight: z.number().positive().max(1_000).optional().meta({ description: 'Default: 1.' }),
};
/** One case of a data set, also as a line of a file. */
export const evaluationCase = z.strictObject(caseFields).meta({ id: 'EvaluationCase' });
export const evaluationCases = z.array(evaluationCase).min(1).max(MAX_CASES);

export const newEvaluation = z.object({
  name: text({ min: 1, max: 200 }).optional(),
  cases: evaluationCases.optional().meta({ description: 'The data set. Either this or `file_id`.' }),
  file_id: uuid.optional().meta({
    description:
      'A file with the data set: a JSON array of cases, a case on each line, or CSV; at most 4 MiB.',
  }),
  checks: checks.optional().meta({ description: 'Of every case, besides its own.' }),
  versions: z.array(version).min(1).max(MAX_VERSIONS).optional().meta({
    description:
      'The others are compared with the first one. Default: the highest published version and the draft.',
  }),
  judge: z
    .strictObject({
      agent: text({ min: 1, max: 255 }).meta({ description: 'Id or name.' }),
      version: version.optional(),
      criteria: text({ min: 1, max: MAX_CRITERIA }).optional(),
      pass: expression.optional().meta({
        description: 'jq on its answer that gives a boolean, or a number from 0 to 1.',
      }),
    })
    .meta({ id: 'NewEvaluationJudge' })
    .optional()
    .meta({
      description: 'An agent that gets `{criteria, input, output, expected}` of each call and judges it.',
    }),
  concurrency: z
    .int()
    .min(1)
    .max(MAX_CONCURRENCY)
    .default(5)
    .meta({ description: 'Calls of each version at the same time.' }),
});

/** With a body of CSV, which has no room for them. */
export const evaluationQuery = z.object({
  name: newEvaluation.shape.name,
  versions: z
    .string()
    .transform((value) => value.split(','))
    .pipe(z.array(version).min(1).max(MAX_VERSIONS))
    .optional()
    .meta({ description: 'Separated by commas.', type: 'string' }),
  judge: text({ min: 1, max: 255 }).optional().meta({ description: 'An agent: id or name.' }),
  criteria: text({ min: 1, max: MAX_CRITERIA }).optional().meta({ description: 'What the judge goes by.' }),
  concurrency: z.coerce.number().int().min(1).max(MAX_CONCURRENCY).optional(),
});

export const retryRequest = z.object({
  only: z
    .array(z.enum(['error', 'failed']))
    .min(1)
    .max(2)
    .default(['error'])
    .meta({ description: 'Cases that ended so with any version.' }),
  concurrency: newEvaluation.shape.concurrency,
});

const spending = z
  .object({
    cost_usd: z.number().nullable().meta({ description: 'Null: unknown.' }),
    input_tokens: z.number(),
    output_tokens: z.number(),
  })
  .meta({
    id: 'EvaluationSpending',
    description: 'What the calls of the version, or of its judge, have used.',
  });

const versionFigures = z
  .object({
    version: z.string(),
    passed: z.int(),
    failed: z.int(),
    errors: z.int().meta({ description: 'Cases without an output, or without a judgement.' }),
    score: z.number().meta({ description: "The weighted mean of the cases' scores, 0 to 1." }),
    latency_ms: z
      .object({ p50: z.int(), p95: z.int() })
      .meta({ id: 'EvaluationLatency' })
      .nullable()
      .meta({ description: 'Of the calls that have given an output.' }),
    used: spending,
    judge_used: spending,
    regressed: z.int().meta({ description: 'Cases that the first version passes and this one does not.' }),
    improved: z.int().meta({ description: 'Cases that this version passes and the first one does not.' }),
  })
  .meta({ id: 'EvaluationFigures' });

export const evaluationRecord = z
  .object({
    id: uuid,
    agent_id: uuid,
    name: z.string().nullable(),
    status: z.enum(EVALUATION_STATUSES),
    run_id: uuid.nullable().meta({ description: 'The run with all calls. Null after it was removed.' }),
    retry_of: uuid.nullable().meta({
      description: 'The evaluation whose cases it tries again; the results of the others are taken over.',
    }),
    started_by: uuid,
    started_by_name: personName,
    versions: z.array(z.string()),
    judge: z
      .object({
        agent_id: uuid,
        agent: z.string().meta({ description: 'Its name at that time.' }),
        version: z.string(),
        criteria: z.string().nullable(),
        pass: z.string().nullable(),
      })
      .meta({ id: 'EvaluationJudge' })
      .nullable(),
    checks: z.array(check),
    cases: z.int(),
    report: z
      .object({
        versions: z.array(versionFigures),
        differing: z.int().meta({ description: 'Cases whose outputs are not all the same.' }),
      })
      .meta({ id: 'EvaluationReport' })
      .nullable()
      .meta({ description: 'Null until the run has completed.' }),
    error: dslErrorSchema.nullable(),
    created_at: timestamp,
    finished_at: timestamp.nullable(),
  })
  .meta({ id: 'Evaluation' });

export const mark = z.enum(MARKS);

const caseResult = z
  .object({
    version: z.string(),
    status: z.enum(['passed', 'failed', 'error']),
    score: z.number(),
    output: z.unknown().optional(),
    judgement: z.unknown().optional().meta({ description: 'What the judge has answered.' }),
    error: z.string().optional(),
    failed: z
      .array(z.string())
      .meta({ description: 'What it has failed: `expected`, `judge`, or the names of checks.' }),
    latency_ms: z.number().nullable(),
    omitted: z.array(z.string()).optional(),
  })
  .meta({ id: 'EvaluationCaseResult' });

export const caseRecord = z
  .object({
    number: z.int().meta({ description: 'Its place in the data set, from 0.' }),
    ...caseFields,
    input: z.unknown().optional(),
    omitted: z
      .array(z.string())
      .optional()
      .meta({ description: 'Fields over 16 KiB, which are not kept beyond the run.' }),
    marks: z.array(mark),
    results: z
      .array(caseResult)
      .nullable()
      .meta({ description: 'Of each version. Null until the run has completed.' }),
  })
  .meta({ id: 'EvaluationCaseWithResults' });

export function presentEvaluation(row: EvaluationRow) {
  const { id, agent_id, name, status, run_id, started_by, versions, judge, checks: all, cases } = row;
  const { retry_of } = row;
  return {
    id,
    agent_id,
    name,
    status,
    run_id,
    retry_of,
    started_by,
    versions,
    judge,
    checks: all,
    cases,
    report: row.report,
    error: row.error,
    created_at: new Date(row.created_at).toISOString(),
    finished_at: row.finished_at === null ? null : new Date(row.finished_at).toISOString(),
  };
}

export function presentCase(versions: readonly string[], { number, given, results, marks }: CaseRow) {
  return {
    number,
    ...given,
    marks,
    results: results?.map((result, index) => ({ version: versions[index] ?? '', ...result })) ?? null,
  };
}
