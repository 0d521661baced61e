/** Suspend, resume, retry, run again, cancel, terminate: each with a key, and asked before it ends something. */
import { useSignal, type Signal } from '@preact/signals';

import type { OPERATIONS, Run } from '../../../../client/index.ts';
import { useKeys } from '../../app/keys.ts';
import { lazy } from '../../app/lazy.tsx';
import { navigate } from '../../app/router.ts';
import { runAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { cache } from '../../data/query.ts';
import { randomKey } from '../../data/random-key.ts';
import { Dialog } from '../../ui/dialog.tsx';
import page from '../../ui/page.module.css';
import { detailOf } from '../../ui/problem.tsx';
import { complain } from '../../ui/toasts.tsx';
import { words } from './words.ts';

const RunAgain = lazy(async () => (await import('./run-again.tsx')).RunAgain);

const COMMANDS = {
  suspend: 'suspendRun',
  resume: 'resumeRun',
  cancel: 'cancelRun',
  retry: 'retryRun',
  terminate: 'terminateRun',
} as const satisfies Record<string, keyof typeof OPERATIONS>;
type Command = keyof typeof COMMANDS;
type Asking = 'cancel' | 'retry' | 'changes' | 'again' | null;

const RetryChanges = lazy(async () => (await import('./retry-changes.tsx')).RetryChanges);

export function Actions({ run }: { run: Run }) {
  const asking = useSignal<Asking>(null);
  const isBusy = useSignal(false);
  const act = (command: Command) => {
    asking.value = null;
    if (!isBusy.value) void send(run, command, isBusy);
  };
  const may = (command: Command) => run.can.includes(command);
  const isOver = run.finished_at !== null && run.can.includes('run_again');
  const ask = (what: Asking) => (asking.value = what);
  const { actions } = words;
  useKeys(
    {
      ...(may('suspend') ? { S: () => act('suspend') } : {}),
      ...(may('resume') ? { S: () => act('resume') } : {}),
      ...(may('cancel') ? { C: () => ask('cancel') } : {}),
      ...(may('retry') ? { R: () => ask('retry') } : isOver ? { R: () => ask('again') } : {}),
    },
    {
      S: may('resume') ? actions.resume : actions.suspend,
      C: actions.cancel,
      R: may('retry') ? actions.retry : actions.again,
    },
  );
  return (
    <div class={page['actions']}>
      {(['suspend', 'resume'] as const).map(
        (command) =>
          may(command) && (
            <Button key={command} keyName="S" disabled={isBusy.value} onClick={() => act(command)}>
              {words.actions[command]}
            </Button>
          ),
      )}
      {may('retry') ? (
        <Button keyName="R" isMain disabled={isBusy.value} onClick={() => ask('retry')}>
          {words.actions.retry}
        </Button>
      ) : (
        isOver && (
          <Button keyName="R" disabled={isBusy.value} onClick={() => ask('again')}>
            {words.actions.again}
          </Button>
        )
      )}
      {may('cancel') && (
        <Button keyName="C" disabled={isBusy.value} onClick={() => ask('cancel')}>
          {words.actions.cancel}
        </Button>
      )}
      <CancelDialog run={run} asking={asking} onAct={act} />
      <RetryDialog run={run} asking={asking} onAct={act} />
      <StartDialogs run={run} asking={asking} />
    </div>
  );
}

/** Those that start another run. */
function StartDialogs({ run, asking }: { run: Run; asking: Signal<Asking> }) {
  const done = () => (asking.value = null);
  return (
    <>
      <Dialog
        open={asking.value === 'changes'}
        title={words.changesTitle}
        onClose={() => close(asking, 'changes')}
      >
        <RetryChanges run={run} onStarted={done} />
      </Dialog>
      <Dialog open={asking.value === 'again'} title={words.againTitle} onClose={() => close(asking, 'again')}>
        <RunAgain run={run} onStarted={done} />
      </Dialog>
    </>
  );
}

/** A dialog that gives way to another one closes too, and must not end that. */
function close(asking: Signal<Asking>, which: Asking): void {
  if (asking.value === which) asking.value = null;
}

async function send(run: Run, command: Command, isBusy: Signal<boolean>): Promise<void> {
  isBusy.value = true;
  try {
    const changed = await client.call(COMMANDS[command], {
      path: { id: run.id },
      idempotencyKey: randomKey(),
    });
    if (changed.id === run.id) await cache.invalidateQueries({ queryKey: ['run', run.id] });
    else navigate(runAddress(changed.id));
  } catch (error) {
    complain(detailOf(error));
  } finally {
    isBusy.value = false;
  }
}

interface ButtonProps {
  keyName: string;
  isMain?: boolean;
  disabled: boolean;
  onClick: () => void;
  children: string;
}

function Button({ keyName, isMain = false, disabled, onClick, children }: ButtonProps) {
  return (
    <button type="button" class={isMain ? 'primary' : undefined} disabled={disabled} onClick={onClick}>
      {children} <kbd aria-hidden="true">{keyName}</kbd>
    </button>
  );
}

interface DialogProps {
  asking: Signal<Asking>;
  onAct: (command: Command) => void;
}

function CancelDialog({ run, asking, onAct }: DialogProps & { run: Run }) {
  return (
    <Dialog
      open={asking.value === 'cancel'}
      title={words.cancelTitle}
      onClose={() => close(asking, 'cancel')}
    >
      <p>{words.cancelText}</p>
      {run.can.includes('terminate') && <p>{words.terminateText}</p>}
      <div class={page['actions']}>
        <button type="button" class="primary" onClick={() => onAct('cancel')}>
          {words.actions.cancel}
        </button>
        {run.can.includes('terminate') && (
          <button type="button" onClick={() => onAct('terminate')}>
            {words.actions.terminate}
          </button>
        )}
        <button type="button" onClick={() => (asking.value = null)}>
          {words.keep}
        </button>
      </div>
    </Dialog>
  );
}

function RetryDialog({ run: { can }, asking, onAct }: DialogProps & { run: Run }) {
  return (
    <Dialog open={asking.value === 'retry'} title={words.retryTitle} onClose={() => close(asking, 'retry')}>
      <p>{words.retryText}</p>
      <div class={page['actions']}>
        <button type="button" class="primary" onClick={() => onAct('retry')}>
          {words.retryNow}
        </button>
        {can.includes('retry_with_changes') && (
          <button type="button" onClick={() => (asking.value = 'changes')}>
            {words.changes}
          </button>
        )}
        {can.includes('run_again') && (
          <button type="button" onClick={() => (asking.value = 'again')}>
            {words.actions.again}
          </button>
        )}
      </div>
    </Dialog>
  );
}
