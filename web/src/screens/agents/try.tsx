/** Invokes an agent from a form of its input schema, follows the run, and shows the same call elsewhere. */
import { useSignal, type Signal } from '@preact/signals';
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks';

import { ApiError, isPartial, type Agent, type Run } from '../../../../client/index.ts';
import { MAX_SESSION_ID } from '../../../../contracts/tool-loop.ts';
import { isMac, keyName } from '../../app/key-names.ts';
import { useKeys } from '../../app/keys.ts';
import { query } from '../../app/router.ts';
import { inboxAddress, runAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { mayCall } from '../../data/session.ts';
import { Code } from '../../ui/code.tsx';
import { fieldsOf, firstEntries, problemsByField, type Entries } from '../../ui/schema-form/fields.ts';
import { loadCheck } from '../../ui/schema-form/form-check.ts';
import { focusInvalid } from '../../ui/focus.ts';
import page from '../../ui/page.module.css';
import { detailOf, ProblemText } from '../../ui/problem.tsx';
import { SchemaForm } from '../../ui/schema-form/schema-form.tsx';
import { StatusText } from '../../ui/status.tsx';
import { lengthText } from '../../ui/time.ts';
import { Value } from '../../ui/value.tsx';
import { Attachments } from './attachments.tsx';
import {
  asA2aMessage,
  asCurl,
  fileFields,
  readInput,
  withAttached,
  type Attached,
  type Entered,
} from './invocation.ts';
import { Conversations, hasSessions } from './conversations.tsx';
import { useVersion } from './agent-data.ts';
import css from './agents.module.css';
import { words } from './words.ts';

interface Sent {
  body: { input?: unknown; version?: string; session?: string };
  run: Run;
}

export function Try({ agent, version }: { agent: Agent; version: string }) {
  const served = version === '' ? (agent.published_version ?? agent.version) : version;
  const { data, error } = useVersion(agent.id, served);
  if (!agent.can.includes('invoke')) return <p class="muted">{words.cannotInvoke}</p>;
  if (error !== null) return <ProblemText error={error} />;
  if (data === undefined) return <div aria-busy="true" />;
  return <Trial key={served} agent={agent} version={version} schema={data.input_schema} />;
}

interface TrialProps {
  agent: Agent;
  version: string;
  schema: Record<string, unknown>;
}

function Trial({ agent, version, schema }: TrialProps) {
  const fields = fieldsOf(schema);
  const entered = useSignal<Entered>({
    byForm: fields.length > 0,
    entries: firstEntries(schema),
    text: '',
  });
  const attached = useSignal<readonly Attached[]>([]);
  const problems = useSignal<readonly { pointer: string; message: string }[]>([]);
  const refused = useSignal<unknown>(null);
  const sent = useSignal<Sent | null>(null);
  const session = useSignal(query.value['session'] ?? '');
  const busy = useSignal(false);
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => {
    if (problems.value.length > 0) focusInvalid(form.current);
  }, [problems.value]);
  const invoke = async () => {
    await loadCheck();
    const read = withAttached(readInput(schema, entered.value), attached.value);
    problems.value = read.problems;
    refused.value = null;
    if (read.problems.length > 0 || busy.value) return;
    const continued = session.value === '' ? {} : { session: session.value };
    const body = { ...read.body, ...(version === '' ? {} : { version }), ...continued };
    busy.value = true;
    try {
      sent.value = { body, run: await client.call('invokeAgent', { path: { id: agent.id }, body }) };
    } catch (error) {
      const found = inputProblems(error);
      if (found === null) refused.value = error;
      else problems.value = found;
    } finally {
      busy.value = false;
    }
  };
  useKeys({ 'mod+Enter': () => void invoke() }, words.tryShortcuts);
  return (
    <div class={css['try']}>
      <form
        ref={form}
        class={page['part']}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void invoke();
        }}
      >
        <h2>{words.input}</h2>
        <Input agent={agent} schema={schema} entered={entered} problems={problems.value} />
        {mayCall('invokeAgent') && <Attachments attached={attached} fields={fileFields(schema)} />}
        {hasSessions(agent) && <Session session={session} />}
        {refused.value !== null && <ProblemText error={refused.value} />}
        <Send version={version} busy={busy} />
      </form>
      {sent.value !== null && <Result key={sent.value.run.id} agent={agent} sent={sent.value} />}
      {hasSessions(agent) && <Conversations agent={agent} onContinue={(id) => (session.value = id)} />}
    </div>
  );
}

/** Null if the error is about something else. */
function inputProblems(error: unknown): { pointer: string; message: string }[] | null {
  if (!(error instanceof ApiError) || error.errors.length === 0) return null;
  return error.errors.map(({ pointer, message }) => ({
    pointer: pointer.replace(/^\/input(?=\/|$)/, ''),
    message,
  }));
}

function Send({ version, busy }: { version: string; busy: Signal<boolean> }) {
  return (
    <div class={page['actions']}>
      <button type="submit" class="primary" disabled={busy}>
        {words.invoke} <kbd>{keyName('mod+Enter', isMac)}</kbd>
      </button>
      <span class="muted">{version === '' ? words.servedVersion : version}</span>
    </div>
  );
}

function Session({ session }: { session: Signal<string> }) {
  return (
    <label>
      {words.session}
      <input
        type="text"
        maxLength={MAX_SESSION_ID}
        value={session}
        onInput={(event) => (session.value = event.currentTarget.value)}
      />
      <span class="muted">{words.sessionHelp}</span>
    </label>
  );
}

/** Problems of no field take the focus themselves. */
const AS_A_WHOLE = { tabIndex: -1, 'data-invalid': true };

interface InputProps {
  agent: Agent;
  schema: Record<string, unknown>;
  entered: Signal<Entered>;
  problems: readonly { pointer: string; message: string }[];
}

function Input({ agent, schema, entered, problems }: InputProps) {
  const { byForm, entries, text } = entered.value;
  const fields = fieldsOf(schema);
  const { ofFields, others } = problemsByField(byForm ? fields : [], problems);
  const ofText = useId();
  const change = (changed: Partial<Entered>) => (entered.value = { ...entered.value, ...changed });
  return (
    <>
      {byForm ? (
        <SchemaForm
          id={`try-${agent.id}`}
          schema={schema}
          entries={entries}
          problems={ofFields}
          disabled={false}
          onChange={(changed: Entries) => change({ entries: changed })}
        />
      ) : (
        <textarea
          aria-label={words.textOrJson}
          placeholder={words.textOrJson}
          rows={6}
          value={text}
          aria-invalid={others.length > 0}
          aria-describedby={others.length > 0 ? ofText : undefined}
          onInput={(event) => change({ text: event.currentTarget.value })}
        />
      )}
      {others.length > 0 && (
        <div id={ofText} {...(byForm && AS_A_WHOLE)}>
          {others.map((message) => (
            <p key={message} class={css['problem']} role="alert">
              {message}
            </p>
          ))}
        </div>
      )}
      {fields.length > 0 && (
        <button
          type="button"
          class={`plain ${page['back']}`}
          onClick={() => {
            const { body } = readInput(schema, entered.value);
            change({ byForm: !byForm, text: byForm ? JSON.stringify(body.input ?? {}, null, 2) : text });
          }}
        >
          {byForm ? words.inputAsJson : words.inputAsForm}
        </button>
      )}
    </>
  );
}

function Result({ agent, sent }: { agent: Agent; sent: Sent }) {
  const run = useSignal(sent.run);
  const problem = useSignal<unknown>(null);
  useEffect(() => {
    const stopped = new AbortController();
    follow(run, stopped.signal).catch((error: unknown) => {
      if (!stopped.signal.aborted) problem.value = error;
    });
    return () => stopped.abort();
  }, []);
  const { id, status, output, error, started_at: start, finished_at: end } = run.value;
  return (
    <section class={page['parts']}>
      <div class={page['part']}>
        <h2>{words.result}</h2>
        <p class={page['facts']} role="status">
          <StatusText status={status} />
          {start !== null && end !== null && (
            <span>{words.took(lengthText(Date.parse(end) - Date.parse(start)))}</span>
          )}
          <a href={runAddress(id)}>{words.startedRun}</a>
          {status === 'waiting' && <a href={inboxAddress({ scope: 'all' })}>{words.openTask}</a>}
        </p>
        {problem.value !== null && <p role="alert">{detailOf(problem.value)}</p>}
        {status === 'completed' && <Value value={output} label={words.output} />}
        {error !== null && <Value value={error} label={words.error} />}
      </div>
      <Exchange agent={agent} body={sent.body} run={run.value} />
    </section>
  );
}

/** A long run has many events, and its record is large. */
const READ_EVERY_MS = 400;

/** Reads the run again after its events, until its log ends. */
async function follow(run: Signal<Run>, signal: AbortSignal): Promise<void> {
  const { id } = run.value;
  let readMs = -Infinity;
  const read = async () => {
    readMs = performance.now();
    run.value = await client.call('getRun', { path: { id }, signal });
  };
  for await (const { data } of client.events('streamRunEvents', { path: { id }, signal }))
    if (
      !isPartial(data) &&
      (data.type.startsWith('io.cadenza.hitl') || performance.now() - readMs > READ_EVERY_MS)
    )
      await read();
  await read();
}

function Exchange({ agent, body, run }: { agent: Agent; body: Sent['body']; run: Run }) {
  const { logs: _logs, tasks: _tasks, ...answer } = run;
  const parts = [
    [words.request, asCurl(location.origin, `/agents/${agent.id}/invoke`, body)],
    [words.response, JSON.stringify(answer, null, 2)],
    [words.message, asA2aMessage(location.origin, agent, body)],
  ] as const;
  return (
    <div class={page['part']}>
      <h2>{words.exchange}</h2>
      {parts.map(([title, text]) => (
        <details key={title}>
          <summary>{title}</summary>
          <Code label={title} text={text} />
        </details>
      ))}
    </div>
  );
}
