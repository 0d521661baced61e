/** Starts a run: the input by the workflow's schema, checked before it is sent. */
import { useSignal } from '@preact/signals';
import { useId, useLayoutEffect, useMemo, useRef } from 'preact/hooks';

import { ApiError, type Run } from '../../../../client/index.ts';
import { client } from '../../data/api.ts';
import { randomKey } from '../../data/random-key.ts';
import { focusInvalid } from '../focus.ts';
import { ProblemText } from '../problem.tsx';
import { fieldsOf, problemsByField, type Entries, type FieldProblem } from '../schema-form/fields.ts';
import { loadCheck } from '../schema-form/form-check.ts';
import { SchemaForm } from '../schema-form/schema-form.tsx';
import { MarkFields } from './mark-fields.tsx';
import { firstMarks, readMarks } from './marks.ts';
import { firstInput, formOf, prepareFields, prepareJson, refusedFields, type InputSchema } from './input.ts';
import css from './start-form.module.css';
import { words } from './words.ts';

interface Props {
  workflowId: string;
  schema: InputSchema | undefined;
  /** Input of an earlier run, which fills the form. */
  earlier?: unknown;
  /** Its tags and labels are those of the new run too, unless they are changed. */
  like?: Pick<Run, 'tags' | 'labels'>;
  onStarted: (run: Run) => void;
}

export function StartForm(props: Props) {
  const id = useId();
  const form = useRef<HTMLFormElement>(null);
  const { fieldSchema, entries, text, marks, problems, refusal, isBusy, submit } = useStart(props);
  useLayoutEffect(() => {
    if (problems.value.length > 0) focusInvalid(form.current);
  }, [problems.value]);
  const { ofFields, others } = problemsByField(fieldsOf(fieldSchema), problems.value);
  return (
    <form
      ref={form}
      class={css['form']}
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBusy.value) void submit();
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        event.currentTarget.requestSubmit();
      }}
    >
      {fieldSchema === null ? (
        <JsonInput id={id} text={text.value} problem={others[0]} onChange={(next) => (text.value = next)} />
      ) : (
        <SchemaForm
          id={id}
          schema={fieldSchema}
          entries={entries.value}
          problems={ofFields}
          disabled={isBusy.value}
          uploadFor={{ workflow: props.workflowId }}
          onChange={(next) => (entries.value = next)}
        />
      )}
      {fieldSchema !== null &&
        others.map((message) => (
          <p key={message} class={css['problem']} role="alert">
            {message}
          </p>
        ))}
      <MarkFields id={id} marks={marks} />
      {refusal.value !== null && <ProblemText error={refusal.value} />}
      <div class={css['actions']}>
        <button class="primary" disabled={isBusy.value}>
          {words.start}
        </button>
      </div>
    </form>
  );
}

/** What was entered, what is wrong with it, and sending it. */
function useStart({ workflowId, schema, earlier, like, onStarted }: Props) {
  const fieldSchema = formOf(schema);
  const first = useMemo(() => firstInput(fieldSchema, earlier), []);
  const entries = useSignal<Entries>(first.entries);
  const text = useSignal(first.text);
  const marks = useSignal(firstMarks(like));
  const problems = useSignal<readonly FieldProblem[]>([]);
  const refusal = useSignal<unknown>(null);
  const isBusy = useSignal(false);
  // A repeated start of the same input, such as after a lost answer, starts one run.
  const attempt = useRef({ content: '', key: randomKey() });
  const submit = async () => {
    await loadCheck();
    const prepared =
      fieldSchema === null
        ? prepareJson(schema, text.value)
        : prepareFields(fieldSchema, entries.value, first.rest);
    refusal.value = null;
    problems.value = prepared.problems;
    if (prepared.problems.length > 0) return;
    const body = { input_params: prepared.input, ...readMarks(marks.value) };
    const content = JSON.stringify(body);
    if (attempt.current.content !== content) attempt.current = { content, key: randomKey() };
    isBusy.value = true;
    try {
      const run = await client.call('runWorkflow', {
        path: { id: workflowId },
        body,
        idempotencyKey: attempt.current.key,
      });
      attempt.current = { content: '', key: randomKey() };
      onStarted(run);
    } catch (error) {
      if (error instanceof ApiError && error.errors.length > 0) problems.value = refusedFields(error.errors);
      else refusal.value = error;
    } finally {
      isBusy.value = false;
    }
  };
  return { fieldSchema, entries, text, marks, problems, refusal, isBusy, submit };
}

interface JsonProps {
  id: string;
  text: string;
  problem: string | undefined;
  onChange: (text: string) => void;
}

function JsonInput({ id, text, problem, onChange }: JsonProps) {
  return (
    <div class={css['form']}>
      <label class={css['label']} for={id}>
        {words.input}
      </label>
      <textarea
        id={id}
        class={css['json']}
        rows={5}
        placeholder="{}"
        value={text}
        aria-invalid={problem !== undefined}
        aria-describedby={`${id}-help`}
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <p id={`${id}-help`} class={problem === undefined ? css['help'] : css['problem']}>
        {problem ?? words.inputHelp}
      </p>
    </div>
  );
}
