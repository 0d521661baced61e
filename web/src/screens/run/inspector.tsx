/** Everything about one step: input, output, error, who decides, its part of the log. */
import type { LogEntry, Run } from '../../../../client/index.ts';
import { inboxAddress, runAddress } from '../../app/routes.ts';
import page from '../../ui/page.module.css';
import { StatusText } from '../../ui/status.tsx';
import { clockTime, lengthText } from '../../ui/time.ts';
import { complain, tell } from '../../ui/toasts.tsx';
import { Value } from '../../ui/value.tsx';
import type { Step } from './fold-run.ts';
import type { LiveOutput } from './live-output.ts';
import { curlOf } from './curl.ts';
import css from './run.module.css';
import { words } from './words.ts';

interface Props {
  run: Run;
  step: Step;
  /** The step's part of the log. */
  entries: readonly LogEntry[];
  /** What its call has produced so far. */
  live: LiveOutput | undefined;
  nowMs: number;
  onClose: () => void;
}

export function Inspector({ run, step, entries, live, nowMs, onClose }: Props) {
  return (
    <aside class={css['inspector']} aria-label={words.inspector}>
      <h2>
        {step.name} · {step.type}
      </h2>
      <p class={page['facts']}>
        <StatusText status={step.status} />
        <span>{lengthText((step.endMs ?? nowMs) - step.startMs)}</span>
        {step.attempt > 1 && <span>{words.attempt(step.attempt)}</span>}
        {step.visit > 1 && step.attempt === 1 && <span>{words.visit(step.visit)}</span>}
      </p>
      {step.humanTaskId !== null && <a href={inboxAddress({ task: step.humanTaskId })}>{words.openTask}</a>}
      {step.childRunId !== null && <a href={runAddress(step.childRunId)}>{words.openChild}</a>}
      {step.error !== null && <Part title={words.error} value={step.error} />}
      <Part title={words.input} value={step.input} omitted={step.omitted.includes('input')} />
      {live !== undefined && <SoFar live={live} />}
      <Part title={words.output} value={step.output} omitted={step.omitted.includes('output')} />
      {step.usage !== null && <Part title={words.usage} value={step.usage} />}
      <details>
        <summary>{words.stepLog(entries.length)}</summary>
        <ul class={css['stepLog']}>
          {entries.map(({ seq, at, message }) => (
            <li key={seq}>
              <time dateTime={at}>{clockTime(at)}</time> {message}
            </li>
          ))}
        </ul>
      </details>
      <code class={css['reference']}>{step.reference}</code>
      <div class={page['actions']}>
        <button type="button" onClick={() => void copy(step.reference)}>
          {words.copyPointer}
        </button>
        <button type="button" onClick={() => void copy(curlOf(location.origin, run.id, step))}>
          {words.copyCurl}
        </button>
        <button type="button" onClick={onClose}>
          {words.close}
        </button>
      </div>
    </aside>
  );
}

function SoFar({ live }: { live: LiveOutput }) {
  return (
    <section class={page['part']}>
      <h3>{words.soFar}</h3>
      {live.progress !== null && <p class="muted">{live.progress}</p>}
      {live.end > 0 && <Value value={live.isCut ? `… ${live.text}` : live.text} label={words.soFar} />}
    </section>
  );
}

function Part({ title, value, omitted = false }: { title: string; value: unknown; omitted?: boolean }) {
  if (value === undefined && !omitted) return null;
  return (
    <section class={page['part']}>
      <h3>{title}</h3>
      {omitted ? <p class="muted">{words.omitted}</p> : <Value value={value} label={title} />}
    </section>
  );
}

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    tell(words.copied);
  } catch {
    // The clipboard exists on secure pages only, and may be forbidden.
    complain(words.notCopied(text));
  }
}
