/** Tools of the platform itself: runs, files and human tasks of the caller. */
import type { CallToolResult } from '@modelcontextprotocol/server';
import * as z from 'zod';

import { issueText } from '../../contracts/issue-texts.ts';
import { withAbsentPeople } from '../../domain/auth/absences.ts';
import { hasRole, type Actor } from '../../domain/auth/actor.ts';
import { writeAudit } from '../../domain/audit/write.ts';
import { addFile, receiveFile } from '../../domain/files/service.ts';
import { getTask, listTasks } from '../../domain/hitl/service.ts';
import { checkQuota } from '../../domain/quotas/check.ts';
import { getRun } from '../../domain/runs/queries.ts';
import { followRun } from '../protocol-calls/follow-run.ts';
import { cancelCalledRun } from '../protocol-calls/start-run.ts';
import { presentListedTask, presentTask } from '../routes/hitl/presenter.ts';
import { text, uuid } from '../schemas.ts';
import { hasScope } from '../scopes.ts';
import { inTransaction } from '../transaction.ts';
import type { McpCall, Progress } from './call.ts';
import { decideTask } from './decide-task.ts';
import { fileUri, recordResult, runResult } from './results.ts';
import { runResultSchema } from './tool-schemas.ts';
import type { ListedTool } from './run-tools.ts';

const MAX_LISTED_TASKS = 50;
const MAX_WAIT_SECONDS = 50;

interface PlatformTool<Schema extends z.ZodObject = z.ZodObject> {
  title: string;
  description: string;
  input: Schema;
  output?: ListedTool['outputSchema'];
  annotations: Record<string, boolean>;
  /** Whether the caller has it. */
  isFor(actor: Actor): boolean;
  call(call: McpCall, given: z.output<Schema>, request: Progress): Promise<CallToolResult>;
}

function tool<Schema extends z.ZodObject>(definition: PlatformTool<Schema>): PlatformTool {
  // The assertion holds: `callPlatformTool` checks the arguments with exactly this schema.
  return definition as unknown as PlatformTool;
}

const readsRuns = (actor: Actor): boolean => hasScope(actor, 'runs:read');
const readsTasks = (actor: Actor): boolean => hasScope(actor, 'hitl:read');
const steersRuns = (actor: Actor): boolean => hasRole(actor, 'builder') && hasScope(actor, 'runs:write');
const writesFiles = (actor: Actor): boolean => hasRole(actor, 'builder') && hasScope(actor, 'files:write');
const READS = { readOnlyHint: true, openWorldHint: false };
const CHANGES = { readOnlyHint: false, openWorldHint: false };

const TOOLS: Record<string, PlatformTool> = {
  get_run: tool({
    title: 'Get a run',
    description:
      'Gets the state of a run and its output. With wait_seconds it waits that long for the end of the run.',
    input: z.strictObject({
      run_id: uuid,
      wait_seconds: z.number().int().min(0).max(MAX_WAIT_SECONDS).optional(),
    }),
    output: runResultSchema(null),
    annotations: { ...READS, idempotentHint: true },
    isFor: readsRuns,
    call: getRunTool,
  }),
  cancel_run: tool({
    title: 'Cancel a run',
    description: 'Asks a run to end. It ends soon after, unless it has ended before.',
    input: z.strictObject({ run_id: uuid }),
    output: runResultSchema(null),
    annotations: { ...CHANGES, destructiveHint: true, idempotentHint: true },
    isFor: steersRuns,
    async call(call, { run_id: id }) {
      const { deps, actor } = call;
      await cancelCalledRun(deps, call, id);
      return runResult(await getRun(deps.orm.em.fork(), actor, id));
    },
  }),
  upload_file: tool({
    title: 'Upload a file',
    description: 'Stores a file that agents and workflows can be given as {"file_id": …}.',
    input: z.strictObject({
      name: text({ min: 1, max: 255 }),
      media_type: text({ min: 3, max: 255 }),
      content_base64: z.base64(),
    }),
    annotations: { ...CHANGES, destructiveHint: false },
    isFor: writesFiles,
    async call({ deps, actor, origin }, { name, media_type, content_base64: content }) {
      const source = chunks(Buffer.from(content, 'base64'));
      const file = { owner_id: actor.id, name, media_type };
      const upload = await receiveFile(deps.files, source);
      const stored = await inTransaction(
        () => deps.orm.em.fork(),
        async (em) => {
          const added = await addFile(em, upload, file, deps.env);
          await writeAudit(em, origin, { action: 'uploadFile', objectType: 'file', objectId: added.id });
          await checkQuota(em, deps.env, 'files', actor.id);
          return added;
        },
      ).catch(async (error: unknown) => {
        await upload.discard();
        throw error;
      });
      const { id, size, sha256 } = stored;
      const reference = { file_id: id, name: stored.name, media_type: stored.media_type, size, sha256 };
      return {
        content: [
          { type: 'text', text: JSON.stringify(reference) },
          { type: 'resource_link', uri: fileUri(id), name: stored.name, mimeType: stored.media_type },
        ],
        structuredContent: reference,
      };
    },
  }),
  list_human_tasks: tool({
    title: 'List human tasks',
    description:
      'Lists the tasks that wait for the decision of the person whom you work for, also as a deputy.',
    input: z.strictObject({ run_id: uuid.optional() }),
    annotations: READS,
    isFor: readsTasks,
    async call({ deps, actor }, filter) {
      const em = deps.orm.em.fork();
      const person = await withAbsentPeople(em, actor);
      const all = { scope: 'mine' as const, ...filter };
      const tasks = await listTasks(em, person, all, { sort: 'priority' }, MAX_LISTED_TASKS);
      return recordResult({ tasks: tasks.map((task) => presentListedTask(person, task)) });
    },
  }),
  get_human_task: tool({
    title: 'Get a human task',
    description: 'Gets one task with its form and what people said about it.',
    input: z.strictObject({ task_id: uuid }),
    annotations: READS,
    isFor: readsTasks,
    async call({ deps, actor }, { task_id: id }) {
      const em = deps.orm.em.fork();
      const person = await withAbsentPeople(em, actor);
      return recordResult({ ...presentTask(person, await getTask(em, person, id)) });
    },
  }),
  decide_human_task: tool({
    title: 'Decide a human task',
    description:
      'Decides a task in the name of the person whom you work for, who has to tell you the decision. ' +
      'Tasks of runs that you have begun are decided elsewhere.',
    input: z.strictObject({
      task_id: uuid,
      decision: text({ min: 1, max: 255 }),
      payload: z.unknown().optional(),
      comment: text({ max: 10_000 }).optional(),
    }),
    annotations: { ...CHANGES, destructiveHint: true },
    isFor: (actor) => hasRole(actor, 'approver') && mayDecideByTools(actor),
    call: decideTask,
  }),
};

/** Only with the scope, so that no model decides what a person should. */
function mayDecideByTools({ client, accessToken, scopes }: Actor): boolean {
  return client?.mayDecide === true || (accessToken === true && scopes?.includes('hitl:decide') === true);
}

async function getRunTool(
  { deps, actor, openSession, gone }: McpCall,
  { run_id: runId, wait_seconds: seconds = 0 }: { run_id: string; wait_seconds?: number | undefined },
): Promise<CallToolResult> {
  const run = await getRun(deps.orm.em.fork(), actor, runId);
  if (seconds === 0) return runResult(run);
  const session = await openSession();
  try {
    const untilMs = performance.now() + seconds * 1_000;
    const entries = followRun({ deps, session, gone }, { runId, after: run.last_seq, untilMs });
    while (!(await entries.next()).done);
    return runResult(await getRun(deps.orm.em.fork(), session.actor, runId));
  } finally {
    session.close();
  }
}

async function* chunks(bytes: Buffer): AsyncGenerator<Uint8Array> {
  const size = 256 * 1024;
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

export function platformTools(actor: Actor): ListedTool[] {
  return Object.entries(TOOLS)
    .filter(([, one]) => one.isFor(actor))
    .map(([name, { title, description, input, output, annotations }]) => ({
      name,
      title,
      description,
      inputSchema: schemaOf(input),
      ...(output === undefined ? {} : { outputSchema: output }),
      annotations: { title, ...annotations },
    }));
}

function schemaOf(input: z.ZodObject): ListedTool['inputSchema'] {
  const { $schema: _, ...schema } = z.toJSONSchema(input, { io: 'input' });
  return { ...schema, type: 'object' };
}

/** Null for another tool, and for one that the caller has not. @throws ZodError for wrong arguments */
export async function callPlatformTool(
  call: McpCall,
  name: string,
  given: Record<string, unknown>,
  request: Progress,
): Promise<CallToolResult | null> {
  const found = Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined;
  return found?.isFor(call.actor)
    ? found.call(call, found.input.parse(given, { error: issueText }), request)
    : null;
}
