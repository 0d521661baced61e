/** The fields by which the audit log is narrowed. */
import { useSignal } from '@preact/signals';
import type { ComponentChildren } from 'preact';

import type { AuditEntry } from '../../../../client/index.ts';
import { setQuery } from '../../app/router.ts';
import { teamsToManage } from '../../data/teams.ts';
import { Choice, type Option } from '../../ui/filters.tsx';
import page from '../../ui/page.module.css';
import { PersonFilter } from '../../ui/person-filter.tsx';
import { detailOf } from '../../ui/problem.tsx';
import { complain } from '../../ui/toasts.tsx';
import {
  ACTIONS,
  actionNamed,
  actionText,
  exportAddress,
  isoTime,
  localTime,
  OUTCOMES,
  type AuditFilter,
} from './audit-filter.ts';
import { words } from './audit-words.ts';
import css from './settings.module.css';

interface Props {
  filter: AuditFilter;
  /** Entries that are shown, whose actions and kinds are proposed first. */
  entries: readonly AuditEntry[];
  isAdmin: boolean;
}

export function AuditFilters({ filter, entries, isAdmin }: Props) {
  const seesOthers = isAdmin || filter.team_id !== undefined;
  return (
    <search class={page['filters']}>
      <TeamChoice value={filter.team_id ?? ''} isAdmin={isAdmin} />
      {seesOthers && (
        <PersonFilter
          id="audit-actor"
          label={words.person}
          hint={words.personHint}
          value={filter.actor_id ?? ''}
          onChoose={(id) => setQuery({ actor_id: id === '' ? undefined : id })}
        />
      )}
      <TextField
        name="action"
        label={words.action}
        hint={words.actionHint}
        maxLength={100}
        value={filter.action}
        proposed={[...entries.map(({ action }) => action), ...ACTIONS]}
        textOf={actionText}
        read={actionNamed}
      />
      <TextField
        name="object_type"
        label={words.objectType}
        hint={words.objectTypeHint}
        maxLength={100}
        value={filter.object_type}
        proposed={entries.flatMap(({ object }) => object?.type ?? [])}
      />
      <TextField name="object_id" label={words.objectId} maxLength={255} value={filter.object_id} />
      <TextField name="address" label={words.address} maxLength={100} value={filter.address} />
      <TimeField name="from" label={words.from} value={filter.from} />
      <TimeField name="to" label={words.to} value={filter.to} />
      <Choice
        name="outcome"
        label={words.outcome}
        value={filter.outcome ?? ''}
        options={[['', words.anyOutcome], ...OUTCOMES.map((one): Option => [one, words.outcomes[one]])]}
      />
      <a href={exportAddress(filter)} download="audit.csv">
        {words.download}
      </a>
    </search>
  );
}

/** Nothing for who administers no team. */
function TeamChoice({ value, isAdmin }: { value: string; isAdmin: boolean }) {
  const options = teamsToManage().map(({ id, name }): Option => [id, name]);
  if (options.length === 0) return null;
  const all = isAdmin ? words.allEntries : words.ownEntries;
  return <Choice name="team_id" label={words.team} value={value} options={[['', all], ...options]} />;
}

interface FieldProps {
  /** The parameter of the address. */
  name: string;
  label: string;
  value: string | undefined;
}

interface TextProps extends FieldProps {
  hint?: string;
  maxLength: number;
  proposed?: readonly string[];
  /** How the table says a value, beside which it is proposed. */
  textOf?: (value: string) => string;
  /** The value that is meant by what was entered. */
  read?: (text: string) => string;
}

function TextField({ name, label, hint = label, maxLength, value = '', ...more }: TextProps) {
  const { proposed = [], textOf, read = (text) => text } = more;
  return (
    <EnteredField
      id={`audit-${name}`}
      label={label}
      hint={hint}
      maxLength={maxLength}
      value={value}
      onEnter={async (text) => setQuery({ [name]: text === '' ? undefined : read(text) })}
    >
      {[...new Set(proposed)].map((one) => (
        <option key={one} value={one} label={textOf?.(one)} />
      ))}
    </EnteredField>
  );
}

interface EnteredProps {
  /** Of the list of proposals. */
  id: string;
  label: string;
  hint: string;
  maxLength: number;
  /** What the address says. */
  value: string;
  /** @throws what is wrong with the text */
  onEnter: (text: string) => Promise<void>;
  /** Proposals. */
  children: ComponentChildren;
}

/** The server compares whole values, so it is asked when the field is left or Enter pressed. */
function EnteredField({ id, label, hint, maxLength, value, onEnter, children }: EnteredProps) {
  /** What is being typed; a drawing meanwhile must not take it away. */
  const typed = useSignal<string | null>(null);
  const enter = async (text: string) => {
    try {
      await onEnter(text.trim());
      typed.value = null;
    } catch (error) {
      complain(detailOf(error));
    }
  };
  return (
    <>
      <input
        class={css['filter']}
        aria-label={label}
        placeholder={hint}
        maxLength={maxLength}
        list={id}
        autocapitalize="none"
        spellcheck={false}
        value={typed.value ?? value}
        onInput={(event) => (typed.value = event.currentTarget.value)}
        onChange={(event) => void enter(event.currentTarget.value)}
      />
      <datalist id={id}>{children}</datalist>
    </>
  );
}

function TimeField({ name, label, value }: FieldProps) {
  return (
    <label class={css['time']}>
      {label}
      <input
        type="datetime-local"
        value={localTime(value)}
        onChange={(event) => setQuery({ [name]: isoTime(event.currentTarget.value) })}
      />
    </label>
  );
}
