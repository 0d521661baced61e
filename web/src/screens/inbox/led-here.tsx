/** The steps and values that the definition shows to the people whom it asks, each folded. */
import type { HumanTask } from '../../../../client/index.ts';
import { isRecord } from '../../../../contracts/is-record.ts';
import { StatusMark } from '../../ui/status.tsx';
import { Value } from '../../ui/value.tsx';
import css from './inbox.module.css';
import { words } from './words.ts';

type Entry = NonNullable<HumanTask['context']>[number];

export function LedHere({ context }: { context: readonly Entry[] }) {
  return (
    <section class={css['part']} aria-labelledby="led-here">
      <h3 id="led-here">{words.ledHere}</h3>
      <ul class={css['steps']}>
        {context.map((entry) => (
          <li key={entry.name}>
            <details open={isTalk(entry.value)}>
              <summary>
                <Mark status={entry.status} /> {entry.name}
              </summary>
              <Shown entry={entry} />
            </details>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Mark({ status }: { status: Entry['status'] }) {
  if (status === null) return null;
  const shown = status === 'skipped' ? 'cancelled' : status;
  return (
    <span class={`status-${shown} status`}>
      <StatusMark status={shown} /> {words.stepStatus[status] ?? status}
    </span>
  );
}

function Shown({ entry: { name, task, value, value_omitted: isOmitted } }: { entry: Entry }) {
  if (isOmitted) return <p class="muted">{words.tooLarge}</p>;
  if (task !== null && (value === null || value === undefined)) return <p class="muted">{words.noOutput}</p>;
  if (isTalk(value)) return <Talk messages={value} />;
  return <Value value={value} label={name} />;
}

interface Message {
  role: string;
  text: string;
}

function isTalk(value: unknown): value is Message[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((one) => isRecord(one) && typeof one['role'] === 'string' && typeof one['text'] === 'string')
  );
}

/** What was said to a language model and what it answered, oldest first. */
function Talk({ messages }: { messages: readonly Message[] }) {
  return (
    <dl class={css['talk']}>
      {messages.map(({ role, text }, index) => (
        <div key={index}>
          <dt>{role}</dt>
          <dd>{text}</dd>
        </div>
      ))}
    </dl>
  );
}
