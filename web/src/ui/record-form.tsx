/**
 * A form whose fields come from JSON Schemas. It is checked by the server's own validator before it is sent,
 * and what the server still refuses is shown at the same fields.
 */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

import { ApiError } from '../../../client/index.ts';
import { focusInvalid } from './focus.ts';
import { ProblemText } from './problem.tsx';
import { problemsOfSection, readSections, sectionEntries, type Section } from './form-sections.ts';
import css from './record-form.module.css';
import { SchemaForm } from './schema-form/schema-form.tsx';
import type { Entries, FieldProblem } from './schema-form/fields.ts';
import { loadCheck } from './schema-form/form-check.ts';
import { words } from './words.ts';

interface Props {
  /** Prefix of the ids of its controls. */
  id: string;
  sections: readonly Section[];
  submit: string;
  /** @throws ApiError whose problems the form shows */
  onSubmit: (body: Record<string, unknown>) => Promise<void>;
  onCancel?: () => void;
  /** Shown above the fields, inside the form. */
  children?: ComponentChildren;
}

type Problems = readonly FieldProblem[];

export function RecordForm({ id, sections, submit, onSubmit, onCancel, children }: Props) {
  const form = useRef<HTMLFormElement>(null);
  const entered = useSignal<Readonly<Record<string, Entries>>>({});
  const problems = useSignal<Problems>([]);
  const refused = useSignal<unknown>(null);
  const busy = useSignal(false);
  useLayoutEffect(() => {
    if (problems.value.length > 0) focusInvalid(form.current);
  }, [problems.value]);
  const send = async (event: Event) => {
    event.preventDefault();
    if (busy.value) return;
    busy.value = true;
    refused.value = null;
    await loadCheck();
    const read = readSections(sections, entered.value);
    problems.value = read.problems;
    try {
      if (read.problems.length === 0) await onSubmit(read.body);
    } catch (error) {
      if (error instanceof ApiError && error.errors.length > 0) problems.value = error.errors;
      else refused.value = error;
    } finally {
      busy.value = false;
    }
  };
  const { ofSections, others } = problemsOfSection(sections, problems.value);
  return (
    <form ref={form} class={css['form']} noValidate onSubmit={(event) => void send(event)}>
      {children}
      {sections.map((section) => (
        <Part
          key={section.id}
          id={`${id}-${section.id}`}
          section={section}
          entries={sectionEntries(section, entered.value)}
          problems={ofSections.get(section.id) ?? new Map()}
          onChange={(entries) => (entered.value = { ...entered.value, [section.id]: entries })}
        />
      ))}
      {others.map((message) => (
        <p key={message} class={css['problem']} role="alert">
          {message}
        </p>
      ))}
      {refused.value !== null && <ProblemText error={refused.value} />}
      <div class={css['buttons']}>
        <button type="submit" class="primary" aria-disabled={busy}>
          {submit}
        </button>
        {onCancel !== undefined && (
          <button type="button" onClick={onCancel}>
            {words.cancel}
          </button>
        )}
      </div>
    </form>
  );
}

interface PartProps {
  id: string;
  section: Section;
  entries: Entries;
  problems: ReadonlyMap<string, string>;
  onChange: (entries: Entries) => void;
}

function Part({ id, section: { title, help, schema }, entries, problems, onChange }: PartProps) {
  const fields = (
    <SchemaForm
      id={id}
      schema={schema}
      entries={entries}
      problems={problems}
      disabled={false}
      onChange={onChange}
    />
  );
  if (title === undefined) return fields;
  return (
    <fieldset class={css['part']}>
      <legend>{title}</legend>
      {help !== undefined && <p class={css['help']}>{help}</p>}
      {fields}
    </fieldset>
  );
}
