import { setQuery } from '../../app/router.ts';
import { personName } from '../../data/people.ts';
import { useWorkflowChoices } from '../../data/workflow-choices.ts';
import { Choice, SearchField, type Option } from '../../ui/filters.tsx';
import { TeamFilter } from '../../ui/team-filter.tsx';
import { PERIODS_MS, STATUSES, type RunFilter } from './run-list.ts';
import css from './runs.module.css';
import { words } from './words.ts';

const MAX_TAG_LENGTH = 100;
const MAX_MARK_LENGTH = 270;
const MAX_KEY_LENGTH = 200;

interface Props {
  filter: RunFilter;
  /** Whether the user sees runs of others. */
  seesAll: boolean;
}

export function RunFilters({ filter, seesAll }: Props) {
  return (
    <>
      <SearchField label={words.search} value={filter.q} />
      <Choice
        name="status"
        label={words.status}
        value={filter.status}
        options={[['', words.anyStatus], ...STATUSES.map((status): Option => [status, status])]}
      />
      <WorkflowChoice value={filter.workflow} />
      <TeamFilter all={words.anyTeam} />
      {(seesAll || filter.owner !== '') && <OwnerChoice value={filter.owner} />}
      <Choice
        name="since"
        label={words.since}
        value={filter.since}
        options={[
          ['', words.anyTime],
          ...Object.keys(PERIODS_MS).map((period): Option => [period, words.periods[period] ?? period]),
        ]}
      />
      <TextFilter name="tag" label={words.tag} maxLength={MAX_TAG_LENGTH} value={filter.tag} />
      <TextFilter
        name="mark"
        label={words.mark}
        hint={words.markHint}
        maxLength={MAX_MARK_LENGTH}
        value={filter.mark}
      />
      <TextFilter
        name="key"
        label={words.key}
        hint={words.keyHint}
        maxLength={MAX_KEY_LENGTH}
        value={filter.key}
      />
    </>
  );
}

interface TextProps {
  /** The parameter of the address. */
  name: string;
  label: string;
  hint?: string;
  maxLength: number;
  value: string;
}

function TextFilter({ name, label, hint = label, maxLength, value }: TextProps) {
  return (
    <input
      class={css['tag']}
      aria-label={label}
      placeholder={hint}
      maxLength={maxLength}
      value={value}
      onInput={(event) => setQuery({ [name]: event.currentTarget.value }, 'replace')}
    />
  );
}

/** Runs of workflows that are not among the newest are found by name. */
function WorkflowChoice({ value }: { value: string }) {
  const known = useWorkflowChoices().map(({ id, name }): Option => [id, name]);
  const isKnown = value === '' || known.some(([id]) => id === value);
  return (
    <Choice
      name="workflow"
      label={words.workflow}
      value={value}
      options={[
        ['', words.anyWorkflow],
        ...(isKnown ? [] : [[value, words.otherWorkflow] satisfies Option]),
        ...known,
      ]}
    />
  );
}

function OwnerChoice({ value }: { value: string }) {
  const known = Object.entries(words.owners);
  const isKnown = Object.hasOwn(words.owners, value);
  return (
    <Choice
      name="owner"
      label={words.owner}
      value={value}
      options={isKnown ? known : [...known, [value, words.otherOwner(personName(value))]]}
    />
  );
}
