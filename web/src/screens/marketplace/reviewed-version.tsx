/** One version as an admin reviews it: texts, needs, digest and the exact content, and what has changed. */
import { useSignal } from '@preact/signals';

import { ApiError, type MarketplaceItem, type MarketplaceVersion } from '../../../../client/index.ts';
import { useKeys } from '../../app/keys.ts';
import { marketItemAddress } from '../../app/routes.ts';
import { client } from '../../data/api.ts';
import { Code } from '../../ui/code.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { FormattedText } from '../../ui/formatted-text.tsx';
import page from '../../ui/page.module.css';
import { ProblemText } from '../../ui/problem.tsx';
import { RecordForm } from '../../ui/record-form.tsx';
import { TextDiff } from '../../ui/text-diff/text-diff.tsx';
import { tell } from '../../ui/toasts.tsx';
import { When } from '../../ui/when.tsx';
import { publisherName, versionText } from './facts.tsx';
import { Requirements } from './item-overview.tsx';
import { refreshItem, useItem, useItemVersion } from './market-data.ts';
import css from './marketplace.module.css';
import { words } from './words.ts';

interface Props {
  id: string;
  version: string;
  onDecided: () => Promise<void>;
}

export function ReviewedVersion({ id, version, onDecided }: Props) {
  const item = useItem(id);
  const content = useItemVersion(id, version);
  const error = item.error ?? content.error;
  if (error !== null) return <ProblemText error={error} retry={() => void refreshItem(id)} />;
  if (item.data === undefined || content.data === undefined) return <div aria-busy="true" />;
  return <Loaded item={item.data} version={content.data} onDecided={onDecided} />;
}

interface LoadedProps {
  item: MarketplaceItem;
  version: MarketplaceVersion;
  onDecided: () => Promise<void>;
}

function Loaded({ item, version, onDecided }: LoadedProps) {
  const { name, summary, description, license, requires, status, digest } = version;
  return (
    <>
      <div class={page['head']}>
        <h2 class={css['heading']}>{name}</h2>
        <div class={page['actions']}>
          <Decide item={item} version={version} onDecided={onDecided} />
          <a href={marketItemAddress(item.id)}>{words.toItem}</a>
        </div>
      </div>
      <p class={page['facts']}>
        <strong class={css['status']}>{words.statuses[status]}</strong>
        <span>{words.kinds[item.kind]}</span>
        <span>{versionText(item.kind, version.version)}</span>
        <span>{publisherName(item.publisher)}</span>
        <span>
          {words.submitted} <When at={version.submitted_at} />
        </span>
        {license !== null && (
          <span>
            {words.license} {license}
          </span>
        )}
        <Names title={words.categories} names={version.categories} />
        <Names title={words.tags} names={version.tags} />
      </p>
      {version.reason !== null && <p>{words.reason(version.reason)}</p>}
      {summary !== null && <p class={page['read']}>{summary}</p>}
      {description !== null && <FormattedText text={description} />}
      <Requirements requires={requires} />
      <Changes item={item} version={version} />
      <section class={page['part']}>
        <h2>{words.content}</h2>
        <p>
          {words.digest} <code class={css['digest']}>{digest}</code>
        </p>
        <Code label={words.content} text={contentText(version)} />
      </section>
    </>
  );
}

function Names({ title, names }: { title: string; names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <span>
      {title}: {names.join(', ')}
    </span>
  );
}

function contentText({ content }: MarketplaceVersion): string {
  return JSON.stringify(content, null, 2);
}

/** The version that is shown now and is approved, if this is another one. */
function Changes({ item, version }: Pick<LoadedProps, 'item' | 'version'>) {
  const isUpdate = item.status === 'approved' && item.version !== version.version;
  return isUpdate ? <Comparison item={item} version={version} /> : null;
}

function Comparison({ item, version }: Pick<LoadedProps, 'item' | 'version'>) {
  const { data, error } = useItemVersion(item.id, item.version);
  const label = words.changes(item.version);
  return (
    <section class={page['part']}>
      <h2>{label}</h2>
      {error !== null && <ProblemText error={error} />}
      {data !== undefined && (
        <TextDiff label={label} before={contentText(data)} after={contentText(version)} />
      )}
    </section>
  );
}

type Decision = 'approve' | 'reject';

function Decide({ item, version, onDecided }: LoadedProps) {
  const asking = useSignal<Decision | null>(null);
  const hasDecided = useSignal(false);
  const mayApprove = item.can.includes('approve') && version.status !== 'approved';
  const mayReject = item.can.includes('reject') && version.status !== 'rejected';
  const ask = (what: Decision) => () => (asking.value = what);
  useKeys(
    {
      ...(mayApprove ? { a: ask('approve') } : {}),
      ...(mayReject ? { r: ask('reject') } : {}),
    },
    words.reviewShortcuts,
  );
  const close = () => {
    asking.value = null;
    if (!hasDecided.value) return;
    hasDecided.value = false;
    void onDecided();
  };
  const send = async (decision: Decision, reason = '') => {
    await (decision === 'approve' ? approve(item, version) : reject(item, version, reason));
    hasDecided.value = true;
  };
  return (
    <>
      {mayApprove && (
        <button type="button" class="primary" onClick={ask('approve')}>
          {words.approve} <kbd>a</kbd>
        </button>
      )}
      {mayReject && (
        <button type="button" onClick={ask('reject')}>
          {rejectVerb(version)} <kbd>r</kbd>
        </button>
      )}
      <Confirm
        title={asking.value === 'approve' ? words.approveTitle(item.name, version.version) : null}
        text={words.approveText}
        act={words.approve}
        onClose={close}
        onAct={() => send('approve')}
      />
      <Rejection
        item={item}
        version={version}
        open={asking.value === 'reject'}
        onClose={close}
        onSend={(reason) => send('reject', reason)}
      />
    </>
  );
}

function rejectVerb({ status }: MarketplaceVersion): string {
  return status === 'approved' ? words.takeDown : words.reject;
}

interface RejectionProps extends Omit<LoadedProps, 'onDecided'> {
  open: boolean;
  onClose: () => void;
  onSend: (reason: string) => Promise<void>;
}

function Rejection({ item, version, open, onClose, onSend }: RejectionProps) {
  const title = version.status === 'approved' ? words.takeDownTitle : words.rejectTitle;
  return (
    <Dialog open={open} title={title(item.name, version.version)} onClose={onClose}>
      <RecordForm
        id="reject"
        sections={[{ id: 'reject', member: '', schema: reasonSchema }]}
        submit={rejectVerb(version)}
        onCancel={onClose}
        onSubmit={async ({ reason }) => {
          await onSend(String(reason));
          onClose();
        }}
      />
    </Dialog>
  );
}

const reasonSchema = {
  type: 'object',
  required: ['reason'],
  properties: {
    reason: { type: 'string', title: words.reasonLabel, description: words.rejectText, maxLength: 2_000 },
  },
};

/** Only what was read is decided: if the version was submitted anew, it is shown anew. */
async function decided(id: string, decide: () => Promise<unknown>): Promise<void> {
  try {
    await decide();
  } catch (error) {
    if (error instanceof ApiError && error.status === 409) void refreshItem(id);
    throw error;
  }
  void refreshItem(id);
}

async function approve(
  { id, name }: MarketplaceItem,
  { version, digest, submitted_at }: MarketplaceVersion,
): Promise<void> {
  const body = { version, digest, submitted_at };
  await decided(id, () => client.call('approveMarketplaceItem', { path: { id }, body }));
  tell(words.approved(name, version));
}

async function reject(
  { id, name }: MarketplaceItem,
  { version, digest, submitted_at }: MarketplaceVersion,
  reason: string,
): Promise<void> {
  const body = { version, digest, submitted_at, reason };
  await decided(id, () => client.call('rejectMarketplaceItem', { path: { id }, body }));
  tell(words.rejected(name, version));
}
